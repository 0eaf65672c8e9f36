//go:build unix

package load

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/dynolab/dyno"
)

// A service at a unix socket is loaded by each engine. Requests name localhost, and their path without the socket's.
func TestUnixSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "dyno") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "x.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	asked := map[string]int{}
	s := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[fmt.Sprintf("HTTP/%d %s%s", r.ProtoMajor, r.Host, r.URL)]++
	})}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	go s.Serve(l)
	defer s.Close()
	client := dyno.Client{Loop: []dyno.Step{{Path: "/a?b=c"}}}
	for _, c := range []struct {
		load dyno.Load
		want string
	}{
		{dyno.Load{Concurrency: 2, Requests: 20, Client: client}, "HTTP/1 localhost/a?b=c"},
		{dyno.Load{Rate: dyno.PerSecond(1000), Requests: 20, Client: client}, "HTTP/1 localhost/a?b=c"},
		{dyno.Load{Concurrency: 2, Requests: 20, HTTP: "2", Client: client}, "HTTP/2 localhost/a?b=c"},
	} {
		rec, err := Run(t.Context(), "http://unix:"+socket, c.load, nil, Options{})
		mu.Lock()
		if err != nil || rec.Requests != 20 || rec.Failed != 0 || len(asked) != 1 || asked[c.want] != 20 {
			t.Errorf("%v: %v, %+v, want %s", c.load, err, asked, c.want)
		}
		clear(asked)
		mu.Unlock()
	}
	s.Close()
	if _, err := Run(t.Context(), "http://unix:"+socket, dyno.Load{Requests: 1}, nil, Options{}); err == nil {
		t.Error("a socket at which nothing listens: no error")
	}
}
