// Command dir is a subject for tests: a service that locks its data directory, as databases do, so
// that each instance needs a directory of its own.
package main

import (
	"flag"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
)

func main() {
	addr := flag.String("addr", "", "address to serve on")
	data := flag.String("data", "", "directory, made if there is none")
	wait := flag.Bool("wait", false, "wait for the lock without a word, rather than exit")
	flag.Parse()
	if err := os.MkdirAll(*data, 0o700); err != nil {
		log.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(*data, "LOCK"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		log.Fatal(err)
	}
	how := syscall.LOCK_EX | syscall.LOCK_NB
	if *wait {
		how = syscall.LOCK_EX
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		log.Fatalf("open database: lock %s: %v", f.Name(), err)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("ok\n")) })
	log.Fatal(http.ListenAndServe(*addr, nil))
}
