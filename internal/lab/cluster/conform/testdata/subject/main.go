// Subject is a small service with the faults of services: it is slow, it fails, it grows, it dies.
package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

var kept [][]byte

var (
	mu    sync.Mutex
	redis net.Conn // to the server of REDIS, its address and its password
)

// incr asks Redis one thing.
func incr(w http.ResponseWriter, _ *http.Request) {
	mu.Lock()
	defer mu.Unlock()
	addr, password, _ := strings.Cut(os.Getenv("REDIS"), " ")
	commands := []string{"INCR n"}
	if redis == nil {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		redis, commands = conn, []string{"AUTH " + password, "INCR n"}
	}
	in := bufio.NewReader(redis)
	for _, command := range commands {
		fmt.Fprint(redis, command+"\r\n")
		if answer, err := in.ReadString('\n'); err != nil || answer[0] == '-' {
			http.Error(w, fmt.Sprint(answer, err), http.StatusBadGateway)
			return
		}
	}
}

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "ok") })
	http.HandleFunc("/env", func(w http.ResponseWriter, r *http.Request) {
		if want := r.FormValue("want"); os.Getenv(r.FormValue("name")) != want {
			http.Error(w, os.Getenv(r.FormValue("name")), http.StatusTeapot)
		}
	})
	http.HandleFunc("/sleep", func(w http.ResponseWriter, r *http.Request) {
		d, _ := time.ParseDuration(r.FormValue("for"))
		time.Sleep(d)
	})
	http.HandleFunc("/redis", incr)
	http.HandleFunc("/die", func(w http.ResponseWriter, r *http.Request) { os.Exit(7) })
	http.HandleFunc("/grow", func(w http.ResponseWriter, r *http.Request) {
		mb, _ := strconv.Atoi(r.FormValue("mb"))
		b := make([]byte, mb<<20)
		for i := range b {
			b[i] = 1
		}
		kept = append(kept, b)
	})
	if err := http.ListenAndServe(os.Getenv("LISTEN"), nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
