// Hostile is a service that does one bad thing, named by MODE; without, it answers well. With TLS=1 it speaks
// HTTPS, and HTTP/2.
package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// enough is the number of requests after which some modes do what they do.
const enough = 10

const escape = "\x1b[2J\x1b]0;owned\x07\u009b31mred\r"

var requests atomic.Int64

// atStart are modes that act before anything is answered.
var atStart = map[string]func(){
	"never": func() { select {} },
	"late":  func() { time.Sleep(time.Second) },
	"orphans": func() {
		for range 20 {
			cmd := exec.Command("sleep", "1000")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			cmd.Start()
		}
	},
	"floods": func() {
		go func() {
			line := []byte(strings.Repeat(escape, 50) + "\n")
			for {
				os.Stderr.Write(line)
				os.Stdout.Write(line)
			}
		}()
	},
	"one endless line": func() {
		go func() {
			for {
				os.Stderr.Write(make([]byte, 1<<16))
			}
		}()
	},
	"false gctrace": func() {
		go func() {
			for n := 1; ; n++ {
				fmt.Fprintf(os.Stderr, "gc %d @%d.5s 9999%%: 1e300+NaN+%s ms clock, 99999999999999999999->-1->0 MB, %s 0 P\n", n, n, strings.Repeat("9", 400), escape)
				time.Sleep(time.Millisecond)
			}
		}()
	},
	"speaks and dies": func() { fmt.Fprintln(os.Stderr, escape, "the cause\x00 of the end"); os.Exit(3) },
	"fills its directory": func() {
		for n := range 200 {
			os.WriteFile(filepath.Join(os.Getenv("DIR"), fmt.Sprint(n)), make([]byte, 1<<16), 0)
		}
		os.Mkdir(filepath.Join(os.Getenv("DIR"), "closed"), 0)
	},
	"eats memory": func() {
		eaten := make([]byte, 300<<20)
		for i := 0; i < len(eaten); i += 4096 {
			eaten[i] = 1
		}
	},
	"deaf":      func() { signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP) },
	"elsewhere": func() { os.Setenv("PORT", "0") },
	"half closed output": func() {
		os.Stdout.Close()
		os.Stderr.Close()
	},
}

// afterEnough are modes that act once it has answered enough requests.
var afterEnough = map[string]func(){
	"kills its guard": func() { syscall.Kill(os.Getppid(), syscall.SIGKILL) },
	"stops its guard": func() { syscall.Kill(os.Getppid(), syscall.SIGSTOP) },
	"dies":            func() { os.Exit(3) },
	"panics":          func() { go panic(escape) },
	"stuck":           func() { select {} },
	"stops":           func() { syscall.Kill(os.Getpid(), syscall.SIGSTOP) },
	"stops to hear":   func() { listener.Close(); panic(http.ErrAbortHandler) },
}

var listener net.Listener

func main() {
	mode := os.Getenv("MODE")
	if f := atStart[mode]; f != nil {
		f()
	}
	var err error
	if listener, err = net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	then := afterEnough[mode]
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n := requests.Add(1); then != nil && n > enough {
			then()
		}
		w.Write([]byte("ok"))
	}))
	server.Listener.Close()
	server.Listener = listener
	if os.Getenv("TLS") != "" {
		server.EnableHTTP2 = true
		server.StartTLS()
	} else {
		server.Start()
	}
	select {}
}
