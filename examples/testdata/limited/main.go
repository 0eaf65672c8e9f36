// Limited is a service for tests of memory limits: it holds some 22 MiB and
// allocates 1 MiB for each request, which it forgets at once. How much more than
// the 22 MiB it takes is for the collector to say.
package main

import (
	"flag"
	"log"
	"net/http"
	"runtime"
)

const (
	held  = 22 << 20
	chunk = 16 << 10 // of the live heap, and of what a request allocates
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	flag.Parse()
	var live [][]byte
	for range held / chunk {
		live = append(live, filled())
	}
	http.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		sum := 0
		for range 64 {
			sum += len(filled())
		}
		w.Write([]byte{byte(sum)})
	})
	err := http.ListenAndServe(*addr, nil)
	runtime.KeepAlive(live)
	log.Fatal(err)
}

// filled is a piece of memory that is resident, as it was written to. It must not be
// inlined: the compiler would put it on the stack.
//
//go:noinline
func filled() []byte {
	b := make([]byte, chunk)
	for i := 0; i < len(b); i += 512 {
		b[i] = byte(i)
	}
	return b
}
