//go:build linux

// Bisect shows whether dyno bisect finds the commit that changed a service, in generated
// repositories with a change at a random place, and what it says where there is no such
// commit. README.md has the commands.
//
// It builds dyno into a temporary directory and runs it as a user would. Nothing of dyno
// is imported, so that no mistake is made twice.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

type options struct {
	commits int
	percent float64
	kind    string
	runs    int
	seed    uint64
	builds  bool
	dyno    string
	keep    string
	record  string
	blocks  int
}

func main() {
	var o options
	flag.IntVar(&o.commits, "commits", 64, "of a repository")
	flag.Float64Var(&o.percent, "percent", 5, "more CPU time per request from the change on")
	flag.StringVar(&o.kind, "kind", "step", "`one` of step, none, back (a change and its reversal), two, drift, broken (a tenth does not build), memory, mod, embed, tail, bench")
	flag.IntVar(&o.runs, "runs", 4, "repositories")
	flag.Uint64Var(&o.seed, "seed", 1, "of the places")
	flag.BoolVar(&o.builds, "builds", true, "compile the standard library beside")
	flag.StringVar(&o.dyno, "dyno", "", "use this `program` (default: build it)")
	flag.StringVar(&o.keep, "keep", "", "keep run directories in this `dir`ectory")
	flag.StringVar(&o.record, "record", "", "only measure the service as it is, and write its blocks to this `file`, for a simulation")
	flag.IntVar(&o.blocks, "blocks", 60, "to record")
	flag.Parse()
	program.Main("eval/bisect", func(ctx context.Context) error { return run(ctx, o) })
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "dyno-bisect-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	dyno, err := program.Dyno(ctx, o.dyno, dir)
	if err != nil {
		return err
	}
	if o.builds {
		defer program.Builds(ctx, dir)()
	}
	if o.record != "" {
		return record(ctx, dyno, dir, o)
	}
	r := rand.New(rand.NewPCG(o.seed, uint64(o.commits)))
	right, wrong, named := 0, 0, 0
	var took []time.Duration
	for i := range o.runs {
		h := newHistory(o, r)
		repo := filepath.Join(dir, fmt.Sprintf("repo%d", i))
		titles, err := h.Make(repo)
		if err != nil {
			return err
		}
		out := filepath.Join(dir, fmt.Sprintf("out%d", i))
		if o.keep != "" {
			out = filepath.Join(o.keep, fmt.Sprintf("%s-%d", o.kind, i))
		}
		began := time.Now()
		said, err := ask(ctx, dyno, repo, out, h)
		if err != nil {
			return err
		}
		took = append(took, time.Since(began))
		verdict := "not found"
		switch at := slices.Index(titles, said.title()); {
		case said.Answer == "found" && slices.Contains(h.at, at):
			verdict = "right"
			right++
			if said.Function != nil && strings.HasPrefix(said.Function.Name, "work.Digest") && said.Function.File == "work/work.go" {
				verdict, named = "right, and its function", named+1
			}
		case said.Answer == "found" || said.Answer == "range" && !said.holds(titles, h.at):
			verdict = "WRONG"
			wrong++
		case said.Answer == "range":
			verdict = "right range"
			right++
		}
		fmt.Printf("%s %g%% at %v of %d: %s %s %q, %v, %d versions measured, %d runs\n", o.kind, o.percent, h.at, o.commits,
			verdict, said.Answer, said.title(), took[i].Round(time.Second), said.measured(), said.Runs)
		if dirty, err := exec.Command("git", "-C", repo, "status", "--porcelain").Output(); err != nil || len(dirty) > 0 {
			return fmt.Errorf("the repository is not as before: %s %v", dirty, err)
		}
		if trees, err := exec.Command("git", "-C", repo, "worktree", "list").Output(); err != nil || strings.Count(string(trees), "\n") != 1 {
			return fmt.Errorf("worktrees are left: %s %v", trees, err)
		}
		os.RemoveAll(repo)
	}
	slices.Sort(took)
	fmt.Printf("%s %g%%: right %d of %d, with its function %d, wrong %d; median %v\n", o.kind, o.percent, right, o.runs, named, wrong, took[len(took)/2].Round(time.Second))
	return nil
}

// An answer is bisect.json.
type answer struct {
	Answer   string
	After    string
	At       string
	Runs     int `json:"-"`
	Function *struct {
		Name, File string
	}
	Versions []struct {
		Version string
		Title   string
		Blocks  int
	}
}

func (a *answer) title() string { return a.named(a.At) }

func (a *answer) named(version string) string {
	for _, v := range a.Versions {
		if v.Version == version {
			return v.Title
		}
	}
	return ""
}

// holds reports whether a range has one of the places.
func (a *answer) holds(titles []string, places []int) bool {
	lo, hi := slices.Index(titles, a.named(a.After)), slices.Index(titles, a.title())
	return slices.ContainsFunc(places, func(at int) bool { return lo < at && at <= hi })
}

func (a *answer) measured() (n int) {
	for _, v := range a.Versions {
		if v.Blocks > 0 {
			n++
		}
	}
	return n
}

func ask(ctx context.Context, dyno, repo, out string, h *planted) (*answer, error) {
	args := append([]string{"bisect"}, h.target...)
	cmd := exec.CommandContext(ctx, dyno, append(args, "--good", "good", "--metric", h.metric, "--out", out)...)
	cmd.Dir = repo
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("dyno bisect: %w\n%s", err, said)
	}
	data, err := os.ReadFile(filepath.Join(out, "bisect.json"))
	if err != nil {
		return nil, err
	}
	a := new(answer)
	if err := json.Unmarshal(data, a); err != nil {
		return nil, err
	}
	runs, err := filepath.Glob(filepath.Join(out, "*-*", "run.json"))
	a.Runs = len(runs)
	return a, err
}
