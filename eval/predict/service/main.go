// Command service is what dyno predict is held against: services with different heaps. A request does one
// unit of the workload that WORKLOAD names, with a live heap of LIVE MiB.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// A workload makes what stays alive, some MiB of it, and returns what a request does.
type workload func(live int) func(r *rand.Rand) []byte

var workloads = map[string]workload{
	"cache":  cache,
	"bytes":  buffers,
	"tree":   trees,
	"stacks": stacks,
	"words":  words,
	"lists":  lists,
	"rows":   rows,
	"slabs":  slabs,
	"small":  trees,
	"phased": phased,
}

func main() {
	make, ok := workloads[os.Getenv("WORKLOAD")]
	if !ok {
		log.Fatalf("unknown WORKLOAD %q", os.Getenv("WORKLOAD"))
	}
	live, err := strconv.Atoi(os.Getenv("LIVE"))
	if err != nil {
		log.Fatal(err)
	}
	do := make(live)
	var mu sync.Mutex
	seed := uint64(0)
	random := sync.Pool{New: func() any {
		mu.Lock()
		defer mu.Unlock()
		seed++
		return rand.New(rand.NewPCG(seed, 7))
	}}
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		r := random.Get().(*rand.Rand)
		defer random.Put(r)
		w.Write(do(r))
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}

// burned keeps the compiler from leaving burn out.
var burned atomic.Uint64

// burn is work that allocates nothing.
func burn(n int) {
	x := uint64(0)
	for i := range n {
		x = x*31 + uint64(i)
	}
	burned.Add(x)
}

// slots are entries that requests replace, each under its own lock.
type slots[T any] struct {
	mu  sync.Mutex
	all []T
}

func filled[T any](n int, one func(r *rand.Rand) T) *slots[T] {
	s := &slots[T]{all: make([]T, n)}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range s.all {
		s.all[i] = one(r)
	}
	return s
}

func (s *slots[T]) put(r *rand.Rand, v T) {
	s.mu.Lock()
	s.all[r.IntN(len(s.all))] = v
	s.mu.Unlock()
}

type document struct {
	ID    int               `json:"id"`
	Name  string            `json:"name"`
	Tags  []string          `json:"tags"`
	Attrs map[string]string `json:"attrs"`
}

func newDocument(id int) *document {
	d := &document{ID: id, Name: "user-" + strconv.Itoa(id), Attrs: map[string]string{}}
	for j := range 6 {
		d.Tags = append(d.Tags, "tag"+strconv.Itoa(id+j))
		d.Attrs["attr"+strconv.Itoa(j)] = "value" + strconv.Itoa(id*j)
	}
	return d
}

// cache decodes a JSON document, keeps it, and answers with another.
func cache(live int) func(*rand.Rand) []byte {
	s := filled(live<<20/1400, func(r *rand.Rand) *document { return newDocument(r.IntN(1 << 30)) })
	return func(r *rand.Rand) []byte {
		var text []byte
		for range 8 {
			text, _ = json.Marshal(newDocument(r.IntN(1 << 30)))
			d := new(document)
			if err := json.NewDecoder(bytes.NewReader(text)).Decode(d); err != nil {
				return []byte(err.Error())
			}
			s.put(r, d)
		}
		return text
	}
}

// buffers keeps byte slices of random length, without pointers.
func buffers(live int) func(*rand.Rand) []byte {
	one := func(r *rand.Rand) []byte {
		b := make([]byte, 256+r.IntN(8192-256))
		for i := 0; i < len(b); i += 512 {
			b[i] = 1
		}
		return b
	}
	s := filled(live<<20/4300, one)
	return func(r *rand.Rand) []byte {
		for range 24 {
			s.put(r, one(r))
		}
		burn(20000)
		return []byte("ok")
	}
}

type node struct {
	l, r *node
	_    [4]uint64
}

func grow(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{l: grow(depth - 1), r: grow(depth - 1)}
}

// trees keeps small objects with many pointers.
func trees(live int) func(*rand.Rand) []byte {
	s := filled(live<<20/(15*48), func(*rand.Rand) *node { return grow(3) })
	return func(r *rand.Rand) []byte {
		for range 60 {
			s.put(r, grow(3))
			burn(4000)
		}
		return []byte("ok")
	}
}

// stacks keeps half of the memory in the stacks of goroutines that wait.
func stacks(live int) func(*rand.Rand) []byte {
	var ready sync.WaitGroup
	wait := make(chan struct{})
	var deep func(d int) byte
	deep = func(d int) byte {
		var pad [1024]byte
		pad[d] = byte(d)
		if d == 0 {
			ready.Done()
			<-wait
			return pad[0]
		}
		return deep(d-1) + pad[d]
	}
	n := live << 20 / 2 / 16384
	ready.Add(n)
	for range n {
		go deep(10)
	}
	ready.Wait()
	return trees(live / 2)
}

// words keeps a map of strings, of which requests replace some.
func words(live int) func(*rand.Rand) []byte {
	n := live << 20 / 210
	var mu sync.Mutex
	m := make(map[int]string, n)
	for i := range n {
		m[i] = strings.Repeat("w", 64+i%128)
	}
	return func(r *rand.Rand) []byte {
		var b strings.Builder
		for range 200 {
			k := r.IntN(n)
			text := strings.Repeat(string(rune('a'+k%26)), 64+r.IntN(128))
			mu.Lock()
			m[k] = text
			mu.Unlock()
			b.WriteString(text)
		}
		burn(10000)
		return []byte(b.String())
	}
}

type link struct {
	next *link
	_    [6]uint64
}

// lists keeps lists, which are marked one link after the other.
func lists(live int) func(*rand.Rand) []byte {
	one := func(*rand.Rand) *link {
		var l *link
		for range 32 {
			l = &link{next: l}
		}
		return l
	}
	s := filled(live<<20/(32*64), one)
	return func(r *rand.Rand) []byte {
		for range 20 {
			s.put(r, one(r))
			burn(5000)
		}
		return []byte("ok")
	}
}

// rows formats tables and forgets them; what stays is old.
func rows(live int) func(*rand.Rand) []byte {
	old := filled(live<<20/1400, func(r *rand.Rand) *document { return newDocument(r.IntN(1 << 30)) })
	return func(r *rand.Rand) []byte {
		var b bytes.Buffer
		for i := range 150 {
			d := old.all[r.IntN(len(old.all))]
			fmt.Fprintf(&b, "%d\t%s\t%v\n", i, d.Name, d.Tags)
		}
		text, _ := io.ReadAll(&b)
		return text
	}
}

// slabs keeps large objects of 64 to 512 KiB.
func slabs(live int) func(*rand.Rand) []byte {
	one := func(r *rand.Rand) []byte {
		b := make([]byte, (64+r.IntN(448))<<10)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		return b
	}
	s := filled(live<<20/(288<<10), one)
	return func(r *rand.Rand) []byte {
		s.put(r, one(r))
		burn(100000)
		return []byte("ok")
	}
}

// phased keeps once and three times as much, by turns.
func phased(live int) func(*rand.Rand) []byte {
	n := live << 20 / (15 * 48)
	s := filled(3*n, func(*rand.Rand) *node { return nil })
	for i := range n {
		s.all[i] = grow(3)
	}
	done := 0
	return func(r *rand.Rand) []byte {
		s.mu.Lock()
		done++
		most := n
		if done/3000%2 == 1 {
			most = 3 * n
		} else if done%3000 == 0 {
			clear(s.all[n:])
		}
		s.mu.Unlock()
		for range 40 {
			v := grow(3)
			s.mu.Lock()
			s.all[r.IntN(most)] = v
			s.mu.Unlock()
		}
		burn(30000)
		return []byte("ok")
	}
}
