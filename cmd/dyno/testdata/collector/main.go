// Collector is a service with some 50 MB of small objects that live, and as much
// garbage in each request as makes a collector with a low GOGC work a good part
// of the time.
package main

import (
	"io"
	"net/http"
	"os"
	"sync/atomic"
)

type node struct {
	left, right *node
	value       [2]int
}

func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{left: tree(depth - 1), right: tree(depth - 1)}
}

var (
	live    = tree(20) // 2 million nodes of 32 bytes
	garbage atomic.Pointer[node]
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		garbage.Store(tree(10)) // 64 KB
		io.WriteString(w, "ok\n")
	})
	if err := http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil); err != nil || live == nil {
		panic(err)
	}
}
