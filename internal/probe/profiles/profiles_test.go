package profiles

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	httppprof "net/http/pprof"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/probe/goruntime"
)

// counts makes a profile, one sample for each function.
func counts(types []string, functions map[string][]int64) *profile.Profile {
	p := &profile.Profile{PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"}, Period: 1, TimeNanos: 1, DurationNanos: 1e9}
	for _, t := range types {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: t, Unit: "count"})
	}
	for name, values := range functions {
		id := uint64(len(p.Function) + 1)
		address := uint64(name[len(name)-1]) * 16 // the same in every profile of a process
		f := &profile.Function{ID: id, Name: name}
		l := &profile.Location{ID: id, Address: address, Line: []profile.Line{{Function: f, Line: 7}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: values})
	}
	return p
}

func written(t *testing.T, p *profile.Profile) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var heapTypes = []string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}

// A script answers the commands of a probe; the answers to one command come in
// turn, and the last is repeated.
type script struct {
	mu      sync.Mutex
	answers map[string][]string
	asked   []string
}

func (s *script) answer(command string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.answers[command]
	if command == "metrics brief" && len(a) == 0 { // it is awake
		return "ok 0\n"
	}
	s.asked = append(s.asked, command)
	if len(a) == 0 {
		return fmt.Sprintf("error unknown command %q\n", command)
	}
	if len(a) > 1 {
		s.answers[command] = a[1:]
	}
	if strings.HasPrefix(a[0], "raw ") {
		return a[0][len("raw "):]
	}
	return fmt.Sprintf("ok %d\n%s", len(a[0]), a[0])
}

func (s *script) serve(t *testing.T) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() {
				defer conn.Close()
				for r := bufio.NewScanner(conn); r.Scan(); {
					if _, err := io.WriteString(conn, s.answer(r.Text())); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); served.Wait() })
	return socket
}

// take runs a probe over a window that ends as soon as it has begun.
func take(t *testing.T, p probe.Probe, target probe.Target) (probe.Reading, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if target.Begun == nil {
		target.Begun = cancel
	} else {
		begun := target.Begun
		target.Begun = func() { begun(); cancel() }
	}
	return p.Watch(ctx, target)
}

func file(t *testing.T, r probe.Reading, name string) *profile.Profile {
	t.Helper()
	for _, f := range r.Files {
		if f.Name == name {
			p, err := profile.ParseData(f.Data)
			if err == nil {
				err = p.CheckValid()
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return p
		}
	}
	t.Fatalf("no file %s", name)
	return nil
}

// values are a profile's samples by function.
func values(p *profile.Profile) map[string][]int64 {
	m := map[string][]int64{}
	for _, s := range p.Sample {
		m[s.Location[0].Line[0].Function.Name] = s.Value
	}
	return m
}

func TestProfiles(t *testing.T) {
	s := &script{answers: map[string][]string{
		"set mutex 1": {"0"}, "set block 10000": {"0"}, "gc": {""}, "cpu start": {""},
		"profile heap": {
			written(t, counts(heapTypes, map[string][]int64{"main.f": {10, 1000, 5, 500}, "main.g": {1, 1, 1, 1}, "main.h": {3, 300, 0, 0}})),
			written(t, counts(heapTypes, map[string][]int64{"main.f": {14, 1400, 2, 200}, "main.g": {1, 1, 1, 1}, "main.h": {4, 400, 0, 0},
				"main.(*dynoProbeConn).profile": {1, 100, 1, 100}})),
		},
		"profile mutex": {
			written(t, counts([]string{"contentions", "delay"}, map[string][]int64{"main.f": {1, 10}})),
			written(t, counts([]string{"contentions", "delay"}, map[string][]int64{"main.f": {3, 70}})),
		},
		"profile block":     {written(t, counts([]string{"contentions", "delay"}, map[string][]int64{"main.f": {1, 10}}))},
		"profile goroutine": {written(t, counts([]string{"goroutine"}, map[string][]int64{"main.f": {7}}))},
		"cpu stop":          {written(t, counts([]string{"samples", "cpu"}, map[string][]int64{"main.f": {2, 20}, "main.dynoProbeServe": {1, 10}}))},
	}}
	begun := 0
	r, err := take(t, Profiles{}, probe.Target{Socket: s.serve(t), Profile: dyno.ProfileNames, Begun: func() { begun = len(s.asked) }})
	if err != nil || len(r.Warnings) > 0 {
		t.Fatalf("%v, %q", err, r.Warnings)
	}
	want := []string{"set mutex 1", "set block 10000", "gc", "profile heap", "profile mutex", "profile block", "cpu start"}
	if !slices.Equal(s.asked[:begun], want) {
		t.Errorf("before the window: %q", s.asked[:begun])
	}
	want = []string{"cpu stop", "profile goroutine", "gc", "profile heap", "profile mutex", "profile block"}
	if !slices.Equal(s.asked[begun:], want) {
		t.Errorf("after the window: %q", s.asked[begun:])
	}
	for _, test := range []struct{ name, want, shown string }{
		{"heap.pb.gz", "map[main.f:[4 400 -3 -300] main.h:[1 100 0 0]]", "inuse_space"},
		{"allocs.pb.gz", "map[main.f:[4 400 -3 -300] main.h:[1 100 0 0]]", "alloc_space"},
		{"mutex.pb.gz", "map[main.f:[2 60]]", ""},
		{"block.pb.gz", "map[]", ""},
		{"goroutine.pb.gz", "map[main.f:[7]]", ""},
		{"cpu.pb.gz", "map[main.f:[2 20]]", ""},
	} {
		p := file(t, r, test.name)
		if got := fmt.Sprint(values(p)); got != test.want || p.DefaultSampleType != test.shown {
			t.Errorf("%s: %s, shows %q; want %s, %q", test.name, got, p.DefaultSampleType, test.want, test.shown)
		}
	}
	if p := file(t, r, "allocs.pb.gz"); time.Since(time.Unix(0, p.TimeNanos)) > time.Minute || p.DurationNanos <= 0 {
		t.Errorf("allocs of %d ns from %d on", p.DurationNanos, p.TimeNanos)
	}
}

// One profile that cannot be had is a warning; if it is the only one there is
// nothing to wait for.
func TestProfileMissing(t *testing.T) {
	s := &script{answers: map[string][]string{
		"cpu start":         {"raw error cpu profiling already in use\n"},
		"profile goroutine": {written(t, counts([]string{"goroutine"}, map[string][]int64{"main.f": {7}}))},
	}}
	r, err := take(t, Profiles{}, probe.Target{Socket: s.serve(t), Profile: []string{"cpu", "goroutine"}})
	if err != nil || len(r.Files) != 1 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "profile cpu is missing") ||
		!strings.Contains(r.Warnings[0].Text, "already in use") {
		t.Errorf("%d files, warnings %q, %v", len(r.Files), r.Warnings, err)
	}
	for _, names := range [][]string{{"cpu"}, {"allocs"}} {
		_, err := Profiles{}.Watch(t.Context(), probe.Target{Socket: s.serve(t), Profile: names}) // its window never ends
		if err == nil || !strings.Contains(err.Error(), "is missing") {
			t.Errorf("%q: error %v", names, err)
		}
	}
	if _, err := (Profiles{}).Watch(t.Context(), probe.Target{Profile: []string{"cpu"}}); err == nil || !strings.Contains(err.Error(), "consider: ") {
		t.Errorf("nobody to ask: %v", err)
	}
}

// A service's own handlers give the same files.
func TestRemoteProfiles(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", httppprof.Index)
	server := httptest.NewServer(mux)
	defer server.Close()
	r, err := take(t, Profiles{}, probe.Target{Pprof: server.URL + "/debug/pprof", Profile: []string{"heap", "allocs", "goroutine", "mutex"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "profile mutex is empty") {
		t.Errorf("warnings %q", r.Warnings)
	}
	for _, name := range []string{"heap.pb.gz", "allocs.pb.gz", "mutex.pb.gz"} {
		file(t, r, name)
	}
	if len(file(t, r, "goroutine.pb.gz").Sample) == 0 {
		t.Error("no goroutines")
	}
	_, err = take(t, Profiles{}, probe.Target{Pprof: server.URL + "/debug/wrong", Profile: []string{"heap"}})
	if err == nil || !strings.Contains(err.Error(), "/debug/wrong/heap?gc=1: 404 Not Found") {
		t.Errorf("wrong path: %v", err)
	}
}

// CPU profiles of a window of unknown length are asked for one after the other.
func TestRemoteCPU(t *testing.T) {
	part := written(t, counts([]string{"samples", "cpu"}, map[string][]int64{"main.f": {2, 20}}))
	for _, test := range []struct {
		name   string
		length time.Duration
		most   int // seconds that the service allows
		want   []string
	}{
		{"unknown", 0, 10, []string{"2", "2", "2"}},
		{"known", 30 * time.Second, 60, []string{"30", "30", "30"}},
		{"limited", 30 * time.Second, 10, []string{"30", "1", "1", "1"}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var asked []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead { // whether it is awake
				return
			}
			seconds := r.FormValue("seconds")
			asked = append(asked, seconds)
			if n, _ := time.ParseDuration(seconds + "s"); n > time.Duration(test.most)*time.Second {
				http.Error(w, "profile duration exceeds server's WriteTimeout", http.StatusBadRequest)
				return
			}
			if len(asked) == len(test.want) {
				cancel()
			}
			io.WriteString(w, part)
		}))
		r, err := Profiles{}.Watch(ctx, probe.Target{Pprof: server.URL, Profile: []string{"cpu"}, Length: test.length})
		server.Close()
		cancel()
		if err != nil || !slices.Equal(asked, test.want) {
			t.Errorf("%s: asked for %q, %v; want %q", test.name, asked, err, test.want)
			continue
		}
		if got := fmt.Sprint(values(file(t, r, "cpu.pb.gz"))); got != "map[main.f:[6 60]]" {
			t.Errorf("%s: %s", test.name, got)
		}
	}
}

// What a part that failed leaves out is said.
func TestRemoteCPUCoverage(t *testing.T) {
	part := written(t, counts([]string{"samples", "cpu"}, map[string][]int64{"main.f": {2, 20}}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead { // whether it is awake
			return
		}
		if !first {
			time.AfterFunc(20*time.Millisecond, cancel)
			http.Error(w, "no more", http.StatusServiceUnavailable)
			return
		}
		first = false
		p, _ := profile.ParseData([]byte(part))
		p.DurationNanos = 1000
		p.Write(w)
	}))
	defer server.Close()
	r, err := Profiles{}.Watch(ctx, probe.Target{Pprof: server.URL, Profile: []string{"cpu"}})
	if err != nil || len(r.Files) != 1 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "profile cpu covers 0% of the window, in 1 parts") ||
		!strings.Contains(r.Warnings[0].Text, "no more") {
		t.Errorf("%d files, %q, %v", len(r.Files), r.Warnings, err)
	}
}

// kept is a file of a trial.
type kept struct {
	bytes.Buffer
	name   string
	closed func() // may be nil
}

func (k *kept) Close() error {
	if k.closed != nil {
		k.closed()
	}
	return nil
}

func (k *kept) create(name string) (io.WriteCloser, error) { k.name = name; return k, nil }

func TestTrace(t *testing.T) {
	const text = "go 1.26 trace and so on"
	s := &script{answers: map[string][]string{"trace 1.5": {"raw part 7\ngo 1.26part 16\n trace and so onok 0\n"}}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	k := kept{closed: cancel} // the window ends after the trace
	begun := false
	r, err := Trace{}.Watch(ctx, probe.Target{Socket: s.serve(t), Length: 1500 * time.Millisecond, Create: k.create, Begun: func() { begun = true }})
	if err != nil || !begun || k.String() != text || k.name != "trace.out" || ctx.Err() == nil || len(r.Warnings) > 0 {
		t.Errorf("%q in %s, closed %v, warnings %q, %v", &k.Buffer, k.name, ctx.Err(), r.Warnings, err)
	}
}

// The end of the window ends a trace that is under way.
func TestTraceIsCutShort(t *testing.T) {
	s := &script{answers: map[string][]string{"trace 60": {"raw part 3\ngo "}, "stop": {"raw part 3\n1.2ok 0\n"}}}
	var k kept
	r, err := take(t, Trace{}, probe.Target{Socket: s.serve(t), Length: time.Minute, Create: k.create})
	if err != nil || k.String() != "go 1.2" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "shorter than the trace of 1m0s") {
		t.Errorf("%q, %q, %v", &k.Buffer, r.Warnings, err)
	}
}

func TestTraceFails(t *testing.T) {
	for _, test := range []struct{ answer, want string }{
		{"raw error tracing is already enabled\n", "already enabled"},
		{"raw part x\n", "unexpected answer"},
		{"raw nonsense 3\n", "unexpected answer"},
	} {
		s := &script{answers: map[string][]string{"trace 1": {test.answer}}}
		var k kept
		if _, err := (Trace{}).Watch(t.Context(), probe.Target{Socket: s.serve(t), Length: time.Second, Create: k.create}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v", test.answer, err)
		}
	}
}

func TestRemoteTrace(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/trace", httppprof.Trace)
	server := httptest.NewServer(mux)
	defer server.Close()
	var k kept
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := Trace{}.Watch(ctx, probe.Target{Pprof: server.URL + "/debug/pprof", Length: 10 * time.Millisecond, Create: k.create, Begun: cancel})
	if err != nil || !strings.HasPrefix(k.String(), "go 1.") {
		t.Errorf("%.20q, %v", &k.Buffer, err)
	}
}

// A page that answers whatever it is asked has no trace, and its trial failed.
func TestRemoteTraceIsNone(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "welcome") }))
	defer server.Close()
	var k kept
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := Trace{}.Watch(ctx, probe.Target{Pprof: server.URL + "/debug/pprof", Length: 10 * time.Millisecond, Create: k.create, Begun: cancel})
	if err == nil || !strings.Contains(err.Error(), `/debug/pprof/trace gave no execution trace, but data that begins with "welco"`) {
		t.Errorf("%v", err)
	}
}

// Where the plan says that certificates are not checked, those of profiles are
// not either.
func TestRemoteInsecure(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", httppprof.Index)
	server := httptest.NewTLSServer(mux)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer server.Close()
	target := probe.Target{Pprof: server.URL + "/debug/pprof", Profile: []string{"goroutine"}}
	if _, err := take(t, Profiles{}, target); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody knows: %v", err)
	}
	target.Insecure = true
	if _, err := take(t, Profiles{}, target); err != nil {
		t.Error(err)
	}
}

const memoryBrief = "/gc/heap/live:bytes u 10\n/memory/classes/heap/objects:bytes u 9\n"

func TestLook(t *testing.T) {
	heap := counts(heapTypes, map[string][]int64{"main.f1": {1, 2, 3, 4}, "main.(*dynoProbeConn).answer2": {1, 2, 3, 4}})
	s := &script{answers: map[string][]string{
		"hello": {"go 1.26"}, "metrics exact": {memoryBrief}, "metrics brief": {memoryBrief}, "gc": {""}, "free": {""},
		"profile heap": {written(t, heap)}, "profile goroutineleak": {"raw error unknown profile \"goroutineleak\"\n"},
		"profile goroutine": {"raw error no memory\n"},
	}}
	l, err := goruntime.OpenInspector(os.Getpid(), s.serve(t))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := errors.Join(l.Collect(), l.Free()); err != nil {
		t.Error(err)
	}
	if want := []string{"metrics brief", "gc", "gc", "gc", "free"}; !slices.Equal(s.asked, want) {
		t.Errorf("asked %q, want %q", s.asked, want)
	}
	data, err := l.Profile("heap")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := profile.ParseData(data); err != nil || len(p.Sample) != 1 {
		t.Errorf("%d samples, %v; want main.f1 alone", len(p.Sample), err)
	}
	if _, err := l.Profile("goroutineleak"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a profile that the runtime does not have: %v", err)
	}
	if _, err := l.Profile("goroutine"); err == nil || errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a profile that failed: %v", err)
	}
	for _, snapshot := range []func() (dyno.Snapshot, error){l.Snapshot, l.Brief} {
		if got, err := snapshot(); err != nil || got.Live != 10 || got.Stage != "" {
			t.Errorf("%+v, %v", got, err)
		}
	}
}
