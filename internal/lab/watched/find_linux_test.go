package watched

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// Of a process that nobody gave a URL of, the pages are found by its ports; else the line says where
// it listens, and what to give.
func TestFindByPort(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // a port that speaks another protocol
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	go func() {
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	find := func() (e dyno.Experiment, notes string) {
		_, err := Target{PID: os.Getpid()}.Find(&e, func(format string, args ...any) { notes += fmt.Sprintf(format, args...) + "\n" })
		if err != nil {
			t.Fatal(err)
		}
		return e, notes
	}
	e, notes := find()
	if e.Probes.Expvar != "" || !strings.Contains(notes, "it listens at "+silent.Addr().String()+" (consider: --url") {
		t.Errorf("without pages: %+v, %s", e.Probes, notes)
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/debug/vars" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `{"memstats": {"NumGC": 3, "HeapAlloc": 4096, "Mallocs": 5, "Frees": 1}}`)
	}))
	defer service.Close()
	e, notes = find()
	if want := service.URL + "/debug/vars"; e.Probes.Expvar != want || !strings.Contains(notes, "the service publishes "+want) {
		t.Errorf("expvar %q, notes %s", e.Probes.Expvar, notes)
	}
}
