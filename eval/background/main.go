//go:build linux

// Background holds dyno run as it is by default against dyno run --alone, on a service that works in the background,
// so that each setting alone is the truth.
//
//	go run ./background                        all combinations, then the gate; about an hour and a half
//	go run ./background -only '5s.*closed'     those whose name matches
//	go run ./background -only gate
//	go run ./background -check                 exit status 1 if a goal was missed
//
// Each result is appended to background.jsonl (-o), and what is there is not measured again. So an interrupted
// campaign goes on. Nothing of dyno is imported, so that no mistake is made twice.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

const programName = "eval/background"

type options struct {
	dyno, keep, out string
	only            *regexp.Regexp
	check           bool
	blocks, gate    int
	window          time.Duration
}

func main() {
	o := options{}
	flag.StringVar(&o.dyno, "dyno", "", "measure this `program` instead of building ./cmd/dyno")
	flag.StringVar(&o.keep, "keep", "", "keep run directories in this `dir`ectory")
	flag.StringVar(&o.out, "o", "background.jsonl", "append results to this `file`")
	only := flag.String("only", "", "`pattern` of the names of combinations, such as 'steady:0.2 2 open'; gate is the gate's")
	flag.BoolVar(&o.check, "check", false, "exit with status 1 if a goal was missed, or has no figure")
	flag.IntVar(&o.blocks, "blocks", 6, "`number` of blocks")
	flag.IntVar(&o.gate, "gate", 10, "`number` of runs of the gate")
	flag.DurationVar(&o.window, "d", 2*time.Second, "`time` of a trial's load")
	flag.Parse()
	var err error
	if o.only, err = regexp.Compile(*only); err != nil || flag.NArg() > 0 || o.blocks < 6 || o.gate < 0 || o.window <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	program.Main(programName, func(ctx context.Context) error { return measure(ctx, o) })
}

func measure(ctx context.Context, o options) error {
	root, err := program.Root(ctx)
	if err != nil {
		return err
	}
	p, err := program.NewPlace(ctx, programName, o.keep, o.dyno)
	defer os.RemoveAll(p.Temp)
	if err != nil {
		return err
	}
	b := &bench{options: o, Place: p, service: filepath.Join(root, "eval/background/service")}
	if b.known, err = read(o.out); err != nil {
		return err
	}
	fmt.Println(program.Machine())
	for _, c := range combinations() {
		if !o.only.MatchString(c.name()) || b.known[b.key(c)] != nil {
			continue
		}
		if err := b.combination(ctx, c); err != nil {
			return err
		}
	}
	for i := range o.gate {
		name := fmt.Sprintf("gate %d", i+1)
		if !o.only.MatchString(name) || b.known[name] != nil {
			continue
		}
		if err := b.gateRun(ctx, name); err != nil {
			return err
		}
	}
	return b.report()
}

type bench struct {
	options
	program.Place
	service string // the directory of the service
	known   map[string]*record
	count   int // runs of dyno so far
}

// A record is a line of the file of results.
type record struct {
	Name    string `json:"name"`
	Default *ran   `json:"default,omitempty"`
	Alone   *ran   `json:"alone,omitempty"`
	Gate    *int   `json:"gate,omitempty"` // the exit status
}

// A ran is what one run of dyno said.
type ran struct {
	Why     string               `json:"why,omitempty"` // it went alone
	Seconds float64              `json:"sec"`
	Changes []map[string]*change `json:"changes"` // of each setting but the first, by metric
}

// A change is from the first setting.
type change struct {
	Ratio *float64 `json:"ratio"` // nil: it is not known
	Lo    *float64 `json:"lo"`
	Hi    *float64 `json:"hi"`
}

func read(path string) (map[string]*record, error) {
	known := map[string]*record{}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		r := new(record)
		if json.Unmarshal([]byte(line), r) == nil { // else it was cut off
			known[r.Name] = r
		}
	}
	return known, nil
}

func (b *bench) keepRecord(r *record) error {
	b.known[r.Name] = r
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(b.out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// key is the name of a combination's record: what was measured with other blocks is another.
func (b *bench) key(c combination) string {
	return fmt.Sprintf("%s, %d blocks of %v", c.name(), b.blocks, b.window)
}

// combination measures by default and alone.
func (b *bench) combination(ctx context.Context, c combination) error {
	r := &record{Name: b.key(c)}
	for i, more := range [][]string{nil, {"--alone"}} {
		args := append([]string{"--repeat", fmt.Sprint(b.blocks), "--vary", "BG=" + strings.Join(c.levels(), ",")}, c.load()...)
		got, status, err := b.run(ctx, append(args, more...)...)
		if err == nil && status != 0 {
			err = fmt.Errorf("%s: dyno ended with status %d", r.Name, status)
		}
		if err != nil {
			return err
		}
		if i == 0 {
			r.Default = got
		} else {
			r.Alone = got
		}
	}
	program.Progress("%s: %.0f and %.0f s, %s", r.Name, r.Default.Seconds, r.Alone.Seconds, r.way())
	return b.keepRecord(r)
}

// gateRun asks the gate about a goroutine that burns most of a CPU.
func (b *bench) gateRun(ctx context.Context, name string) error {
	got, status, err := b.run(ctx, "--fail-worse", "-c", "4", "--vary", "BG=none,steady:0.8")
	if err != nil {
		return err
	}
	program.Progress("%s: exit status %d in %.0f s, %s", name, status, got.Seconds, (&record{Default: got}).way())
	return b.keepRecord(&record{Name: name, Default: got, Gate: &status})
}

// run runs dyno as a user would. Any exit status but 1 and 2 is a result.
func (b *bench) run(ctx context.Context, args ...string) (*ran, int, error) {
	b.count++
	dir := filepath.Join(b.Dir, fmt.Sprintf("run-%03d", b.count))
	argv := append([]string{"run", b.service, "--json", "--out", dir, "-d", b.window.String(), "-w", "300ms", "--keep-requests", "none"}, args...)
	argv = append(argv, "--", "-addr", "{{.Addr}}")
	if b.keep == "" {
		defer os.RemoveAll(dir)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 20*time.Minute, errors.New("dyno did not end"))
	defer cancel()
	cmd := exec.CommandContext(ctx, b.Dyno, argv...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	began := time.Now()
	err := cmd.Run()
	took := time.Since(began)
	status := cmd.ProcessState.ExitCode()
	if err != nil && (ctx.Err() != nil || status < 3) {
		return nil, 0, fmt.Errorf("dyno %s: %w: %s", strings.Join(argv, " "), err, program.LastLine(stderr.String()))
	}
	var summary struct {
		Settings []struct {
			Versus map[string]*change `json:"versus"`
		} `json:"settings"`
	}
	var run struct{ Alone string }
	text, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err = errors.Join(err, json.Unmarshal(text, &run), json.Unmarshal([]byte(stdout.String()), &summary)); err != nil {
		return nil, 0, fmt.Errorf("read what dyno wrote: %w", err)
	}
	got := &ran{Why: run.Alone, Seconds: took.Seconds()}
	for _, s := range summary.Settings[1:] {
		of := map[string]*change{}
		for _, m := range metrics {
			if x := s.Versus[m]; x != nil {
				of[m] = x
			}
		}
		got.Changes = append(got.Changes, of)
	}
	return got, status, nil
}
