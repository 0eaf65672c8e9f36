// Command shop is the service of which the runs beside it were made. A request
// costs a little CPU time, memory and a wait; with -keep its memory is kept.
//
//	GET /         a list of prices, in JSON
//	GET /healthz  ok
package main

import (
	"flag"
	"net/http"
	"os"
	"sync"
	"time"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:"+os.Getenv("PORT"), "listen on `host:port`")
	keep := flag.Int("keep", 0, "`bytes` that each request leaves behind")
	flag.Parse()

	var mu sync.Mutex
	var kept [][]byte
	http.HandleFunc("/healthz", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("ok\n")) })
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body := Prices(300)
		time.Sleep(200 * time.Microsecond)
		if *keep > 0 {
			mu.Lock()
			kept = append(kept, make([]byte, *keep))
			mu.Unlock()
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	})
	if err := http.ListenAndServe(*addr, nil); err != nil {
		panic(err)
	}
}
