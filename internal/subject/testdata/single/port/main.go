// Command port is a subject for tests: a service of which only one instance can run, as it has a
// fixed port beside the one that it is told. The first instance serves on both.
package main

import (
	"flag"
	"log"
	"net"
	"net/http"
)

func main() {
	addr := flag.String("addr", "", "address to serve on")
	fixed := flag.String("fixed", "", "another one, such as 127.0.0.1:9090 for metrics")
	wait := flag.Bool("wait", false, "log that the fixed port is taken and wait, rather than exit")
	flag.Parse()
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("ok\n")) })
	l, err := net.Listen("tcp", *fixed)
	if err != nil {
		if log.Print(err); *wait {
			select {}
		}
		log.Fatal("no metrics, no service")
	}
	go http.Serve(l, nil)
	log.Fatal(http.ListenAndServe(*addr, nil))
}
