//go:build linux

// Upgrade shows whether dyno upgrade names the default of a new Go that changed a service, with services that are made of one
// thing each, and one for which nothing changes. README.md has the commands.
//
// It builds dyno into a temporary directory and runs it as a user would. Nothing of dyno
// is imported, so that no mistake is made twice.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
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
	kinds  string
	runs   int
	builds bool
	allow  string
	total  time.Duration
	dyno   string
	keep   string
}

func main() {
	var o options
	flag.StringVar(&o.kinds, "kinds", "json,none", "`list` of services, of "+strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	flag.IntVar(&o.runs, "runs", 1, "of each")
	flag.BoolVar(&o.builds, "builds", false, "compile the standard library beside")
	flag.StringVar(&o.allow, "allow", "cpu_per_req 5%,rss_peak 10%", "`list` of what is allowed")
	flag.DurationVar(&o.total, "total", 5*time.Minute, "most `time` for old and new")
	flag.StringVar(&o.dyno, "dyno", "", "use this `program` (default: build it)")
	flag.StringVar(&o.keep, "keep", "", "keep run directories in this `dir`ectory")
	flag.Parse()
	program.Main("eval/upgrade", func(ctx context.Context) error { return run(ctx, o) })
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "dyno-upgrade-")
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
	words := map[string]int{}
	for _, name := range strings.Split(o.kinds, ",") {
		k, ok := kinds[name]
		if !ok {
			return fmt.Errorf("unknown kind %s", name)
		}
		for i := range o.runs {
			src := filepath.Join(dir, fmt.Sprintf("%s%d", name, i))
			out := src + "-out"
			if o.keep != "" {
				out = filepath.Join(o.keep, filepath.Base(src))
			}
			if err := k.make(src); err != nil {
				return err
			}
			before, err := os.ReadFile(filepath.Join(src, "go.mod"))
			if err != nil {
				return err
			}
			began := time.Now()
			a, err := ask(ctx, o, dyno, src, out, k)
			if err != nil {
				return err
			}
			after, err := os.ReadFile(filepath.Join(src, "go.mod"))
			if err != nil || string(after) != string(before) {
				return errors.Join(err, fmt.Errorf("go.mod is not as before: %s", after))
			}
			word := a.judge(k)
			words[word]++
			fmt.Printf("%s, go%s to go%s: %s: %s, %s, %v\n", name, k.from, k.to, word, a.Answer, a.said(), time.Since(began).Round(time.Second))
		}
	}
	fmt.Printf("right %d, not found %d, WRONG %d\n", words["right"], words["not found"], words["WRONG"])
	return nil
}

// An answer is upgrade.json.
type answer struct {
	Answer string
	Cause  *struct {
		Metric string
		Change struct{ Ratio float64 }
		Found  []struct{ Name string }
		Alone  struct {
			Left struct{ Ratio, Lo, Hi float64 }
		}
	}
}

func (a *answer) found() string {
	if a.Cause == nil || len(a.Cause.Found) == 0 {
		return ""
	}
	return a.Cause.Found[len(a.Cause.Found)-1].Name
}

// judge compares an answer with what is known. Where no default is known to change the service, "not safe" is not wrong by itself: the compiler may.
func (a *answer) judge(k kind) string {
	switch found := a.found(); {
	case found != k.cause && found != "":
		return "WRONG"
	case found == k.cause:
		return "right"
	}
	return "not found"
}

func (a *answer) said() string {
	if a.Cause == nil {
		return "no sure change"
	}
	if a.found() == "" {
		return fmt.Sprintf("%s ×%.3f, no default", a.Cause.Metric, a.Cause.Change.Ratio)
	}
	left := a.Cause.Alone.Left
	return fmt.Sprintf("%s ×%.3f, %s, without it ×%.3f [%.3f, %.3f]", a.Cause.Metric, a.Cause.Change.Ratio, a.found(), left.Ratio, left.Lo, left.Hi)
}

func ask(ctx context.Context, o options, dyno, src, out string, k kind) (*answer, error) {
	args := []string{"upgrade", ".", "--to", "go" + k.to, "--out", out, "--total", o.total.String()}
	for _, allow := range strings.Split(o.allow, ",") {
		args = append(args, "--allow", allow)
	}
	cmd := exec.CommandContext(ctx, dyno, args...)
	cmd.Dir, cmd.Env = src, append(os.Environ(), "GOTOOLCHAIN=go"+k.from)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	said, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 99) { // 99: what is allowed fails
		return nil, fmt.Errorf("dyno upgrade: %w\n%s", err, said)
	}
	data, err := os.ReadFile(filepath.Join(out, "upgrade.json"))
	if err != nil {
		return nil, err
	}
	a := new(answer)
	return a, json.Unmarshal(data, a)
}
