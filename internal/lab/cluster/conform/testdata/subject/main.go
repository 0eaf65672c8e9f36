// Subject is a small service with the faults of services: it is slow, it fails, it grows, it dies.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"
)

var kept [][]byte

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
