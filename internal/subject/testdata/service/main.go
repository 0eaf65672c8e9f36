// Command service is a subject for tests: a small HTTP service that can
// misbehave in the ways of -mode.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	addr := flag.String("addr", "", "")
	mode := flag.String("mode", "", "")
	config := flag.String("config", "", "")
	flag.Parse()
	if *config != "" { // a file with nothing but the address
		text, err := os.ReadFile(*config)
		if err != nil {
			panic(err)
		}
		*addr = strings.TrimSpace(string(text))
	}
	fmt.Fprintln(os.Stderr, "service: mode", *mode)
	switch *mode {
	case "die":
		fmt.Fprintln(os.Stderr, "service: cannot find my database")
		os.Exit(3)
	case "die on stdout": // as services do that log there
		fmt.Println("service: \x1b[31mcannot find my database")
		os.Exit(3)
	case "never":
		select {}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "graceful":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		go func() { <-c; fmt.Println("goodbye"); os.Exit(0) }()
	case "fork": // a grandchild that no signal to our group reaches
		cmd := exec.Command("sh", "-c", "sleep 1000 & exec sleep 1000")
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
	case "flood":
		go func() {
			line := strings.Repeat("x", 99) + "\n"
			for {
				os.Stderr.WriteString(line)
			}
		}()
	case "prefork", "hand over": // children answer: two on one socket, or one in a session of its own
		handOver(*addr, *mode)
		select {}
	case "elsewhere":
		*addr = "127.0.0.1:0"
	case "port":
		*addr = "127.0.0.1:" + os.Getenv("PORT")
	}
	http.HandleFunc("/pid", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, os.Getpid()) })
	http.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/env", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, os.Getenv(r.FormValue("name"))) })
	http.HandleFunc("/die", func(http.ResponseWriter, *http.Request) { go panic("asked to die") })
	l, err := net.FileListener(os.NewFile(3, "listener"))
	if *mode != "child" {
		network := "tcp"
		if strings.HasPrefix(*addr, "/") {
			network = "unix"
		}
		l, err = net.Listen(network, *addr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if *mode == "tls" {
		s := &httptest.Server{Listener: l, Config: &http.Server{}} // it has a certificate
		s.StartTLS()
		select {}
	}
	http.Serve(l, nil)
}

// handOver gives the listener to children, which answer.
func handOver(addr, mode string) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		panic(err)
	}
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		panic(err)
	}
	for range map[string]int{"prefork": 2, "hand over": 1}[mode] {
		cmd := exec.Command(os.Args[0], "-mode", "child")
		cmd.ExtraFiles = []*os.File{file}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: mode == "hand over"}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
	}
	file.Close()
	l.Close()
}
