package goruntime

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// memoryNow is what the injected probe of a service under load answered (Go 1.26.8),
// without what is not of memory.
const memoryNow = `time u 1795330000000000000
/gc/heap/allocs:bytes u 912345678
/gc/heap/live:bytes u 4404224
/memory/classes/heap/free:bytes u 2408448
/memory/classes/heap/objects:bytes u 6501232
/memory/classes/heap/released:bytes u 3670016
/memory/classes/heap/stacks:bytes u 1146880
/memory/classes/heap/unused:bytes u 3050640
/memory/classes/metadata/mcache/free:bytes u 13056
/memory/classes/metadata/mcache/inuse:bytes u 2544
/memory/classes/metadata/mspan/free:bytes u 42112
/memory/classes/metadata/mspan/inuse:bytes u 267008
/memory/classes/metadata/other:bytes u 3187008
/memory/classes/os-stacks:bytes u 1024
/memory/classes/other:bytes u 1190287
/memory/classes/profiling/buckets:bytes u 12345
/memory/classes/total:bytes u 21492600
/sched/goroutines:goroutines u 12
/gc/gogc:percent u 18446744073709551615
/gc/gomemlimit:bytes u 201326592
/sched/gomaxprocs:threads u 2
`

func TestParseMemory(t *testing.T) {
	got, err := parseMemory([]byte(memoryNow))
	want := dyno.Snapshot{
		Live: 4404224, Dead: 6501232 - 4404224, Unused: 3050640, Idle: 2408448, Released: 3670016,
		Stacks: 1146880 + 1024, Metadata: 13056 + 2544 + 42112 + 267008 + 3187008, Other: 1190287 + 12345, Goroutines: 12,
		InForce: dyno.Setting{{Factor: "GOGC", Value: "off"}, {Factor: "GOMEMLIMIT", Value: "192MiB"}, {Factor: "GOMAXPROCS", Value: "2"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	if all := got.Mapped() + got.Released; all != 21492600 {
		t.Errorf("the parts are %v bytes, and all is 21492600", all)
	}
	// Objects that are freed after the mark are not there any more.
	got, err = parseMemory([]byte("/gc/heap/live:bytes u 10\n/memory/classes/heap/objects:bytes u 9\n"))
	if err != nil || got.Dead != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"time u 1\n", "/gc/heap/live:bytes u x\n", "/gc/heap/live:bytes h 1\n"} {
		if _, err := parseMemory([]byte(bad)); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
}

// Without the injected probe only the kernel knows something.
func TestLookFromOutside(t *testing.T) {
	l, err := OpenInspector(os.Getpid(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, err := range []error{l.Collect(), l.Free()} {
		if err == nil || !strings.Contains(err.Error(), "no injected probe") {
			t.Errorf("error %v", err)
		}
	}
	if _, err := l.Profile("heap"); err == nil {
		t.Error("a profile without a probe")
	}
	if _, err := OpenInspector(0, ""); err == nil {
		t.Error("there is a process 0")
	}
}
