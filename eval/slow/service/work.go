package main

import (
	"math/rand/v2"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// Writing to a disk.
var file *os.File

func openFile() {
	file, _ = os.CreateTemp("", "slow")
	os.Remove(file.Name())
}

func syncFile() {
	file.WriteAt(make([]byte, 4<<20), 0)
	file.Sync()
}

// Other work on the CPUs.
func hog() { burn(8 * time.Millisecond) }

// Garbage.
type node struct {
	l, r *node
	_    [6]int
}

func tree(d int) *node {
	if d == 0 {
		return &node{}
	}
	return &node{l: tree(d - 1), r: tree(d - 1)}
}

var kept atomic.Pointer[node]
var garbage atomic.Pointer[node]

func allocate() {
	for range 40 {
		garbage.Store(tree(6))
	}
}

// Pages of a file that are not in memory.
var mapped []byte

const mappedSize = 64 << 20

func mapFile() {
	f, err := os.CreateTemp("", "pages")
	if err != nil {
		panic(err)
	}
	os.Remove(f.Name())
	f.Truncate(mappedSize)
	mapped, err = syscall.Mmap(int(f.Fd()), 0, mappedSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
}

//go:noinline
func touchPages() {
	at := rand.IntN(mappedSize/2) &^ 4095
	syscall.Madvise(mapped[at:at+mappedSize/8], syscall.MADV_DONTNEED)
	for i := at; i < at+mappedSize/8; i += 4096 {
		mapped[i]++
	}
}
