//go:build linux

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
)

// turns of the work of a request without a change; a tenth of a per cent can be told.
const turns = 4000

// A history is what each commit of a repository is to be.
type history struct {
	work   []int  // turns, by commit
	keeps  []int  // bytes that the service keeps
	broken []bool // does not compile
	mod    int    // the commit whose change is in go.mod alone: a module beside; 0: none
	embed  bool   // the turns are in a file that is embedded
	tail   int    // one request of 25 takes four times as long, and from this commit on longer; 0: none does
	longer float64
	at     []int // commits that may be the answer
	metric string
	target []string // of dyno
}

func newHistory(o options, r *rand.Rand) *history {
	n := o.commits
	h := &history{work: make([]int, n), keeps: make([]int, n), broken: make([]bool, n), metric: "cpu_per_req", target: []string{"./cmd/server"}}
	slow := int(turns * (1 + o.percent/100))
	at := 1 + r.IntN(n-1)
	if o.kind == "back" || o.kind == "two" {
		at = 1 + r.IntN(n/2-1)
	}
	later := at + 1 + r.IntN(n-at-1+boolInt(at == n-1))
	for i := range n {
		h.work[i] = turns
		switch o.kind {
		case "step", "broken", "embed", "bench":
			if i >= at {
				h.work[i] = slow
			}
		case "back":
			if i >= at && i < later {
				h.work[i] = slow
			}
		case "two":
			if i >= at {
				h.work[i] = slow
			}
			if i >= later {
				h.work[i] = 2*slow - turns
			}
		case "drift":
			h.work[i] = turns + (slow-turns)*i/(n-1)
		case "memory":
			if i >= at {
				h.keeps[i] = 8 << 20
			}
		}
	}
	switch o.kind {
	case "step", "memory":
		h.at = []int{at}
	case "embed":
		h.at, h.embed = []int{at}, true
	case "tail":
		h.at, h.tail, h.longer, h.metric = []int{at}, at, 4*(1+o.percent/100), "p99"
	case "bench":
		h.at, h.metric, h.target = []int{at}, "sec_per_op", []string{"./work", "--bench", "Digest"}
	case "two":
		h.at = []int{at, later}
	case "broken":
		h.at = []int{at}
		for i := 1; i < n-1; i++ {
			h.broken[i] = r.IntN(10) == 0
		}
	case "mod":
		h.at, h.mod = []int{at}, at
	}
	if o.kind == "memory" {
		h.metric = "rss_peak"
	}
	return h
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// make writes the repository and returns the titles of its commits. Every fourth commit changes a text alone.
func (h *history) make(dir string) (titles []string, err error) {
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
	}
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
		cmd.Dir = dir
		if out, gerr := cmd.CombinedOutput(); gerr != nil {
			err = errors.Join(err, fmt.Errorf("git %q: %w\n%s", args, gerr, out))
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	git("init", "-q", "-b", "main")
	write("cmd/server/main.go", server)
	for _, slow := range []string{"old", "new"} { // modules beside, one of which go.mod takes
		n := 1
		if slow == "new" {
			n = 201
		}
		write("dep/"+slow+"/go.mod", "module example.org/dep\n\ngo 1.22\n")
		write("dep/"+slow+"/dep.go", fmt.Sprintf("package dep\n\n// Extra is more work.\nconst Extra = %d\n", n))
	}
	write("work/work_test.go", benchmark)
	for i := range h.work {
		title := fmt.Sprintf("commit %d", i)
		dep := "old"
		if h.mod > 0 && i >= h.mod {
			dep = "new"
		}
		write("go.mod", "module example.org/b\n\ngo 1.22\n\nrequire example.org/dep v0.0.0\n\nreplace example.org/dep => ./dep/"+dep+"\n")
		bad := ""
		if h.broken[i] {
			bad = "\nvar broken int = \"\"\n"
		}
		turns := fmt.Sprint(h.work[i])
		if h.embed {
			turns = "embedded()"
			write("work/turns.txt", fmt.Sprint(h.work[i]))
			write("work/turns.go", embedded)
		}
		if h.tail > 0 {
			longer := 4.0
			if i >= h.tail {
				longer = h.longer
			}
			turns = fmt.Sprintf("seldom(%d, %d)", int(longer*float64(h.work[i])), h.work[i])
			write("work/seldom.go", seldom)
		}
		write("work/work.go", fmt.Sprintf(work, h.keeps[i], turns, bad))
		if i%4 == 0 {
			write("README.md", title+"\n")
		} else {
			write("work/note.go", fmt.Sprintf("package work\n\n// Note is of one commit.\nfunc Note(x int) int { return x*%d + %d }\n", i+3, i))
		}
		if i == 0 {
			write("work/note.go", "package work\n\n// Note is of one commit.\nfunc Note(x int) int { return x }\n")
		}
		git("add", "-A")
		git("commit", "-q", "-m", title)
		if i == 0 {
			git("tag", "good")
		}
		titles = append(titles, title)
	}
	return titles, err
}

const server = `package main

import (
	"net/http"
	"os"
	"strconv"

	"example.org/b/work"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(strconv.Itoa(work.Note(0) + work.Digest(r.URL.Path))))
	})
	http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil)
}
`

const work = `package work

import (
	"crypto/sha256"

	"example.org/dep"
)

var kept = make([]byte, %d)

func init() {
	for i := range kept {
		kept[i] = 1
	}
}

// Digest hashes a text again and again.
func Digest(s string) int {
	sum := sha256.Sum256([]byte(s))
	for range %s + dep.Extra {
		sum = sha256.Sum256(sum[:])
	}
	return int(sum[0]) + len(kept)
}
%s`

const embedded = `package work

import (
	_ "embed"
	"strconv"
)

//go:embed turns.txt
var text string

func embedded() int {
	n, _ := strconv.Atoi(text)
	return n
}
`

const seldom = `package work

import "sync/atomic"

var calls atomic.Int64

func seldom(long, short int) int {
	if calls.Add(1)%25 == 0 {
		return long
	}
	return short
}
`

const benchmark = `package work

import "testing"

func BenchmarkDigest(b *testing.B) {
	for b.Loop() {
		Digest("x")
	}
}
`
