// Package history writes git repositories in which each commit is known: how much work the service does for a request, and what it keeps.
package history

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Turns of the work of a request without a change; a tenth of a per cent can be told.
const Turns = 4000

// A History is what each commit of a repository is to be. The service is ./cmd/server, and the work has a benchmark, Digest in ./work.
type History struct {
	Work   []int  // turns, by commit
	Keeps  []int  // bytes that the service keeps
	Broken []bool // does not compile; nil: all do
	Mod    int    // the commit whose change is in go.mod alone: a module beside; 0: none
	Embed  bool   // the turns are in a file that is embedded
	Tail   int    // one request of 25 takes four times as long, and from this commit on longer; 0: none does
	Longer float64
}

// Make writes the repository and returns the titles of its commits. Every fourth commit changes a text alone.
func (h *History) Make(dir string) (titles []string, err error) {
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
	for i := range h.Work {
		title := fmt.Sprintf("commit %d", i)
		dep := "old"
		if h.Mod > 0 && i >= h.Mod {
			dep = "new"
		}
		write("go.mod", "module example.org/b\n\ngo 1.22\n\nrequire example.org/dep v0.0.0\n\nreplace example.org/dep => ./dep/"+dep+"\n")
		bad := ""
		if h.Broken != nil && h.Broken[i] {
			bad = "\nvar broken int = \"\"\n"
		}
		turns := fmt.Sprint(h.Work[i])
		if h.Embed {
			turns = "embedded()"
			write("work/turns.txt", fmt.Sprint(h.Work[i]))
			write("work/turns.go", embedded)
		}
		if h.Tail > 0 {
			longer := 4.0
			if i >= h.Tail {
				longer = h.Longer
			}
			turns = fmt.Sprintf("seldom(%d, %d)", int(longer*float64(h.Work[i])), h.Work[i])
			write("work/seldom.go", seldom)
		}
		write("work/work.go", fmt.Sprintf(work, h.Keeps[i], turns, bad))
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
