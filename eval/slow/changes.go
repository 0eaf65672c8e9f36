//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynolab/dyno/eval/internal/program"
)

// A change is an edit of the service, and the line that p99 changes with.
type change struct {
	rev        string
	old, new   string
	part, site string
}

// A study compares revisions of one service with main. That of same moves lines, and changes nothing.
type study struct {
	service string
	rate    int
	changes []change
}

const same = "same"

// more is what each revision has above the first import, so that no line has the number that it has in main.
const more = "\n// Lines of this revision have\n// other numbers.\n\nimport ("

// check and flush are added by changes.
const (
	check = `
//go:noinline
func check() {
	for end := time.Now().Add(400 * time.Microsecond); time.Now().Before(end); {
	}
}
`
	flush = `
var counters sync.Mutex

func count() {
	counters.Lock()
	counters.Unlock()
}

func flush() {
	counters.Lock()
	time.Sleep(3 * time.Millisecond)
	counters.Unlock()
}

func init() { every(60*time.Millisecond, flush) }
`
)

var studies = []study{
	{"mutex", 800, []change{
		{"hold", "time.Sleep(5 * time.Millisecond)\n\tc.mu.Unlock()", "time.Sleep(6 * time.Millisecond)\n\tc.mu.Unlock()", "sync", "(*cache).get"},
		{"check", "_ = c.m[1]\n\tc.mu.Unlock()", "_ = c.m[1]\n\tc.mu.Unlock()\n\tcheck()", "running", "check"},
	}},
	{"pool", 900, []change{
		{"work", "func work() { time.Sleep(1200 ", "func work() { time.Sleep(1400 ", "channel", "enqueue"},
		{"flush", "jobs <- j\n", "jobs <- j\n\tcount()\n", "sync", "count"},
	}},
	{"rwmutex", 800, []change{
		{"hold", "time.Sleep(6 * time.Millisecond)\n\tt.mu.Unlock()", "time.Sleep(7 * time.Millisecond)\n\tt.mu.Unlock()", "sync", "(*lookup).read"},
	}},
	{"logchan", 800, []change{
		{"write", "func writeOut() { time.Sleep(9 ", "func writeOut() { time.Sleep(10 ", "channel", "logLine.func1"},
	}},
	{"fanout", 400, []change{
		{"shard", "d = 8 * time.Millisecond", "d = 9 * time.Millisecond", "sync", "slowestOfEight"},
		{"check", "wg.Wait()\n\treturn time.Since(began)\n}\n\n// At most", "wg.Wait()\n\tcheck()\n\treturn time.Since(began)\n}\n\n// At most", "running", "check"},
	}},
}

// changes counts how often the line that changed is named as the change of p99, and how often any line is where
// nothing changed.
func changes(ctx context.Context, p program.Place, o options) error {
	repo := filepath.Join(p.Temp, "repo")
	if err := revisions(ctx, repo); err != nil {
		return err
	}
	hits, others, changed, falsely, equal := 0, 0, 0, 0, 0
	for n := range o.runs {
		for _, st := range studies {
			if !o.wants(st.service) {
				continue
			}
			all, err := compare(ctx, p, o, repo, st, fmt.Sprint("changes-", st.service, "-", n))
			if err != nil {
				return fmt.Errorf("%s: %w", st.service, err)
			}
			for _, m := range all {
				rev := strings.TrimPrefix(m.Setting, "rev=")
				at := m.Moved.At
				fmt.Printf("%-6s %-12s p99 %+5.1f%%  %+.2f ms [%+.2f, %+.2f]", st.service, strings.TrimPrefix(rev, st.service+"-"), 100*at.Diff/m.Moved.Base, 1e3*at.Diff, 1e3*at.Lo, 1e3*at.Hi)
				sure, hit, other := m.sure(st, rev)
				fmt.Println(sure)
				if rev == same {
					equal++
					if sure != "" {
						falsely++
					}
					continue
				}
				changed++
				if hit {
					hits++
				}
				if other {
					others++
				}
			}
		}
	}
	if changed == 0 {
		return errors.New("nothing was measured: -only has mutex, pool, rwmutex, logchan and fanout here")
	}
	fmt.Printf("  beside it another line, such as waiting for a P that now has more to do: %d of %d\n", others, changed)
	goals := program.Goals{W: os.Stdout, Width: 60}
	goals.Judge(fmt.Sprintf("the line is named in %d of %d", (changed*45+47)/48, changed), fmt.Sprint(hits), hits >= (changed*45+47)/48)
	goals.Judge("any line is named where nothing changed", fmt.Sprintf("%d of %d", falsely, equal), falsely*20 <= equal)
	return goals.Conclude(o.check)
}

// moved is what dyno says of a setting against the first.
type moved struct {
	Setting string
	Moved   *struct {
		Base  float64                        `json:"base-sec"`
		At    struct{ Diff, Lo, Hi float64 } `json:"change-sec"`
		Moves []struct {
			Part   string
			Func   string
			Sure   bool
			Change struct{ Diff, Lo, Hi float64 } `json:"change-sec"`
		}
	} `json:"why-moved"`
}

// sure are the lines that are named, and whether that which changed is one of them, and another.
func (m *moved) sure(st study, rev string) (text string, hit, other bool) {
	for _, x := range m.Moved.Moves {
		if !x.Sure {
			continue
		}
		text += fmt.Sprintf("  %s %s %+.2f [%+.2f, %+.2f]", x.Part, strings.TrimPrefix(x.Func, "main."), 1e3*x.Change.Diff, 1e3*x.Change.Lo, 1e3*x.Change.Hi)
		is := slices.ContainsFunc(st.changes, func(c change) bool {
			return rev == st.service+"-"+c.rev && x.Part == c.part && strings.TrimPrefix(x.Func, "main.") == c.site && x.Change.Diff > 0
		})
		hit, other = hit || is, other || !is
	}
	return text, hit, other
}

// compare runs the revisions of a study side by side.
func compare(ctx context.Context, p program.Place, o options, repo string, st study, name string) (all []moved, err error) {
	revs := []string{"main", same}
	for _, c := range st.changes {
		revs = append(revs, st.service+"-"+c.rev)
	}
	cmd := exec.CommandContext(ctx, p.Dyno, "run", repo, "--vary", "rev="+strings.Join(revs, ","), "--rate", fmt.Sprint(st.rate, "/s"),
		"-d", o.length.String(), "--trace", o.length.String(), "-w", "0s", "--repeat", "1", "--why-slow", "--json", "--out", filepath.Join(p.Dir, name), "--", "-addr", "{{.Addr}}", "-case", st.service)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	data, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, program.LastLine(stderr.String()))
	}
	var s struct{ Settings []moved }
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	for _, m := range s.Settings {
		if m.Moved != nil {
			all = append(all, m)
		}
	}
	if len(all) != len(revs)-1 {
		return nil, fmt.Errorf("dyno says why p99 changed of %d revisions (want %d)", len(all), len(revs)-1)
	}
	return all, nil
}

// revisions makes a repository of the service, with a tag for each change.
func revisions(ctx context.Context, repo string) error {
	if err := os.CopyFS(repo, os.DirFS("slow/service")); err != nil {
		return err
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	var own []string
	for line := range strings.Lines(string(mod)) {
		if !strings.Contains(line, "dynolab") {
			own = append(own, line)
		}
	}
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		return err
	}
	cause := filepath.Join(repo, "causes.go")
	text, err := os.ReadFile(cause)
	if err != nil {
		return err
	}
	write := func(path, text string) {
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
	}
	do := func(name string, args ...string) {
		if err == nil {
			cmd := exec.CommandContext(ctx, name, args...)
			cmd.Dir = repo
			var out []byte
			if out, err = cmd.CombinedOutput(); err != nil {
				err = fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, program.LastLine(string(out)))
			}
		}
	}
	commit := func(args ...string) {
		do("git", "add", ".")
		do("git", "-c", "user.name=eval", "-c", "user.email=eval@example.invalid", "commit", "-q", "-m", "service")
		do("git", args...)
	}
	write(filepath.Join(repo, "go.mod"), "module service\n"+strings.Join(own, ""))
	write(filepath.Join(repo, "go.sum"), string(sum))
	do("git", "init", "-q", "-b", "main")
	do("go", "build", "-mod=mod", "-o", os.DevNull, ".")
	commit("status")
	edit := func(tag, old, new, added string) {
		if err == nil && strings.Count(string(text), old) != 1 {
			err = fmt.Errorf("%s: the service has %d times %q (want once)", tag, strings.Count(string(text), old), old)
		}
		write(cause, strings.Replace(strings.Replace(string(text), old, new, 1), "\nimport (", more, 1)+added)
		commit("tag", tag)
		do("git", "reset", "-q", "--hard", "HEAD~1")
	}
	edit(same, "package main\n", "package main\n", "")
	for _, st := range studies {
		for _, c := range st.changes {
			edit(st.service+"-"+c.rev, c.old, c.new, map[string]string{"check": check, "flush": flush}[c.rev])
		}
	}
	return err
}
