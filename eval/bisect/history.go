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
	at     []int  // commits that may be the answer
	metric string
}

func newHistory(o options, r *rand.Rand) *history {
	n := o.commits
	h := &history{work: make([]int, n), keeps: make([]int, n), broken: make([]bool, n), metric: "cpu_per_req"}
	slow := int(turns * (1 + o.percent/100))
	at := 1 + r.IntN(n-1)
	if o.kind == "back" || o.kind == "two" {
		at = 1 + r.IntN(n/2-1)
	}
	later := at + 1 + r.IntN(n-at-1+boolInt(at == n-1))
	for i := range n {
		h.work[i] = turns
		switch o.kind {
		case "step", "broken":
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
		write("work/work.go", fmt.Sprintf(work, h.keeps[i], h.work[i], bad))
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
	for range %d + dep.Extra {
		sum = sha256.Sum256(sum[:])
	}
	return int(sum[0]) + len(kept)
}
%s`
