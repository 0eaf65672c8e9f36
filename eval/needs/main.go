//go:build linux

// Needs holds what dyno says of a service and its database against what was planted: examples/orders with its own
// Postgres and Redis.
//
//	go run ./needs                     everything, three hours
//	go run ./needs -only changes       an N+1 query, a missing index: are they found, and named?
//	go run ./needs -only same          equal settings that write, per launch and per block: is no change reported?
//	go run ./needs -only pool          a pool of one connection: is it said that requests wait for it?
//	go run ./needs -only writes        two equal settings, beside a third that writes ten times as much
//	go run ./needs -only widths        half-widths without and with a database
//	go run ./needs -only seeds         seconds to make and to copy seeds of 1, 100 and 1000 MB
//	go run ./needs -only relay         a delay of 2 ms, and what the relay itself costs
//	go run ./needs -runs 3             so many runs of each
//	go run ./needs -check              exit status 1 if a goal was missed
//
// Nothing of dyno is imported, so that no mistake is made twice.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

const programName = "eval/needs"

type options struct {
	only, dyno, keep, within string
	check                    bool
	runs                     int
}

// A bench has what the parts need.
type bench struct {
	options
	program.Place
	orders string // directory of the example
	goals  program.Goals
	n      int // of runs so far
}

func main() {
	o := options{}
	flag.StringVar(&o.only, "only", "", "`parts`: seeds, relay, changes, pool, writes, widths, same; with commas between")
	flag.StringVar(&o.dyno, "dyno", "", "measure this `program` instead of building ./cmd/dyno")
	flag.StringVar(&o.keep, "keep", "", "keep run directories in this `dir`ectory")
	flag.StringVar(&o.within, "within", "60s", "`time` of a run's compared blocks")
	flag.IntVar(&o.runs, "runs", 0, "`number` of runs of each (default: what the goals want, 10 and 20)")
	flag.BoolVar(&o.check, "check", false, "exit with status 1 if a goal was missed, or has no figure")
	flag.Parse()
	program.Main(programName, func(ctx context.Context) error { return measure(ctx, o) })
}

func measure(ctx context.Context, o options) error {
	p, err := program.NewPlace(ctx, programName, o.keep, o.dyno)
	defer os.RemoveAll(p.Temp)
	if err != nil {
		return err
	}
	root, err := program.Root(ctx)
	if err != nil {
		return err
	}
	b := &bench{options: o, Place: p, orders: filepath.Join(root, "examples/orders"), goals: program.Goals{W: os.Stdout, Width: 60}}
	fmt.Println(program.Machine())
	for _, part := range []struct {
		name string
		do   func(context.Context, *bench) error
	}{{"seeds", seeds}, {"relay", relay}, {"changes", changes}, {"pool", pool}, {"writes", writes}, {"widths", widths}, {"same", same}} {
		if o.only == "" || slices.Contains(strings.Split(o.only, ","), part.name) {
			if err := part.do(ctx, b); err != nil {
				return fmt.Errorf("%s: %w", part.name, err)
			}
		}
	}
	return b.goals.Conclude(o.check)
}

// times is how often something is run.
func (b *bench) times(wanted int) int {
	if b.runs > 0 {
		return b.runs
	}
	return wanted
}

// A summary is what summary.json has, as far as it is needed.
type summary struct {
	Settings []struct {
		Setting string
		Values  map[string]struct{ Center float64 }
		Versus  map[string]struct {
			Verdict       string
			Lo, Hi, Ratio *float64
			Primary       bool
		}
		Why []struct {
			Metric string
			Causes []struct {
				Class  string
				Places []struct{ Func string }
			}
		}
	}
	Metrics []struct {
		Name    string
		Primary bool
	}
}

// run runs the plan of the example with more flags, and reads its summary and its text. The plan varies LINES, which has
// one level unless the flags vary it.
func (b *bench) run(ctx context.Context, args ...string) (*summary, string, error) {
	if !strings.Contains(strings.Join(args, " "), "LINES=") {
		args = append(args, "--vary", "LINES=join")
	}
	return b.read(ctx, append([]string{"run", "-f", "dyno.yaml", "-w", "500ms", "-d", "2s"}, args...)...)
}

// read runs dyno in the example's directory, and reads its summary and its text.
func (b *bench) read(ctx context.Context, args ...string) (*summary, string, error) {
	b.n++
	dir := filepath.Join(b.Dir, fmt.Sprintf("%04d", b.n))
	args = slices.Insert(args, 1, "--out", dir)
	program.Progress("dyno %s", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, b.Dyno, args...)
	cmd.Dir = b.orders
	text, err := cmd.Output()
	if err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, "", err
	}
	out, err := exec.CommandContext(ctx, b.Dyno, "report", dir, "--json").Output()
	if err != nil {
		return nil, "", err
	}
	var s summary
	if err := json.Unmarshal(out, &s); err != nil {
		return nil, "", err
	}
	return &s, string(text), nil
}

// changes plants what makes a service slow by its database.
func changes(ctx context.Context, b *bench) error {
	for _, c := range []struct {
		name    string
		args    []string
		worse   string // metric that has to be worse
		classes string // of the first cause of p50
		named   string // in the text of why
	}{
		{"N+1", []string{"--vary", "LINES=join,each"}, "db-cpu-sec/req", "statements", "select name from products where id = $1"},
		{"no index", []string{"--vary", "needs.db.seed=" + b.seeds("schema.sql") + "," + b.seeds("noindex.sql")}, "db-cpu-sec/req", "server time", "select l.product_id"},
	} {
		found, named := 0, 0
		n := b.times(10)
		for range n {
			s, text, err := b.run(ctx, append(c.args, "--within", b.within)...)
			if err != nil {
				return err
			}
			v := s.Settings[1]
			if v.Versus[c.worse].Verdict == "worse" && v.Versus["p50-sec"].Verdict == "worse" {
				found++
			}
			_, why, _ := strings.Cut(text, "\nWhy, ")
			why, _, _ = strings.Cut(why, "\n\n")
			why = strings.Join(strings.Fields(why), " ")
			ok := strings.Contains(why, c.named)
			for _, w := range v.Why {
				if w.Metric == "p50-sec" && (len(w.Causes) == 0 || w.Causes[0].Class != c.classes) {
					ok = false
				}
			}
			if ok {
				named++
			}
			fmt.Printf("%-9s p50 %s %s, %s %s %s; %s\n", c.name, ratio(v.Versus["p50-sec"].Ratio), v.Versus["p50-sec"].Verdict,
				c.worse, ratio(v.Versus[c.worse].Ratio), v.Versus[c.worse].Verdict, why)
		}
		b.goals.Judge(c.name+": p50 and the database's CPU are worse", fmt.Sprintf("%d of %d", found, n), found == n)
		b.goals.Judge(c.name+": the statement is named, as the first cause of p50", fmt.Sprintf("%d of %d", named, n), named == n)
	}
	return nil
}

// seeds are the files of a level of needs.db.seed.
func (b *bench) seeds(schema string) string {
	return filepath.Join(b.orders, schema) + " " + filepath.Join(b.orders, "data.sql")
}

func ratio(r *float64) string {
	if r == nil {
		return "?"
	}
	return fmt.Sprintf("%+.1f%%", 100*(*r-1))
}

// same compares equals: any change of a primary metric is false.
func same(ctx context.Context, b *bench) error {
	for _, per := range []string{"launch", "block"} {
		wrong := 0
		n := b.times(20)
		for range n {
			s, _, err := b.run(ctx, "--need", "db=postgres,seed=schema.sql,seed=data.sql,per="+per, "--vary", "AA=1,2", "--method", "POST", "--path", "/order", "--within", b.within)
			if err != nil {
				return err
			}
			said := changedOf(s, 1)
			if said != "" {
				wrong++
			}
			fmt.Printf("same, per %-6s p50 %s%s\n", per, ratio(s.Settings[1].Versus["p50-sec"].Ratio), said)
		}
		b.goals.Judge("equals with inserts, per "+per+": runs with any change", fmt.Sprintf("%d of %d", wrong, n), wrong <= 1)
	}
	return nil
}

// waits is how a change of p99 by the wait for a connection is said.
var waits = regexp.MustCompile(`p99: \+[0-9.]+ m?s \[[^\]]*\] waiting for a connection in \S+`)

// pool compares a pool of ten connections with one of one, under 20 clients.
func pool(ctx context.Context, b *bench) error {
	named := 0
	n := b.times(10)
	for range n {
		s, text, err := b.run(ctx, "--vary", "POOL=10,1", "-c", "20", "--why-slow", "--within", b.within)
		if err != nil {
			return err
		}
		first := waits.FindString(strings.Join(strings.Fields(text), " "))
		if first != "" && s.Settings[1].Versus["p50-sec"].Verdict == "worse" {
			named++
		}
		fmt.Printf("small pool p50 %s, %s\n", ratio(s.Settings[1].Versus["p50-sec"].Ratio), first)
	}
	b.goals.Judge("a small pool: the wait for a connection is named", fmt.Sprintf("%d of %d", named, n), named == n)
	return nil
}

// writes compares two equal settings beside one that writes ten times as much.
func writes(ctx context.Context, b *bench) error {
	for _, per := range []string{"launch", "run"} {
		wrong, said := 0, 0
		n := b.times(5)
		for range n {
			s, text, err := b.run(ctx, "--need", "db=postgres,seed=schema.sql,seed=data.sql,per="+per, "--vary", "WRITES=3,03,30", "--method", "POST", "--path", "/order", "--within", b.within)
			if err != nil {
				return err
			}
			changed := changedOf(s, 1)
			if changed != "" {
				wrong++
			}
			if strings.Contains(strings.Join(strings.Fields(text), " "), "settings can slow each other through it") {
				said++
			}
			fmt.Printf("beside ten times the writes, per %-6s p50 %s%s\n", per, ratio(s.Settings[1].Versus["p50-sec"].Ratio), changed)
		}
		if per == "launch" {
			b.goals.Judge("beside ten times the writes: equals with any change", fmt.Sprintf("%d of %d", wrong, n), wrong == 0)
		} else {
			b.goals.Judge("a shared database: it is said that it is shared", fmt.Sprintf("%d of %d", said, n), said == n)
		}
	}
	return nil
}

// changedOf says which primary metrics of a setting changed, and how; "" if none did.
func changedOf(s *summary, setting int) (said string) {
	for _, row := range s.Metrics {
		if v := s.Settings[setting].Versus[row.Name]; row.Primary && (v.Verdict == "better" || v.Verdict == "worse") {
			said += fmt.Sprintf(" %s %s %s", row.Name, v.Verdict, ratio(v.Ratio))
		}
	}
	return said
}

// widths are the half-widths of intervals with and without a database, on a quiet machine and beside compilers.
func widths(ctx context.Context, b *bench) error {
	for _, busy := range []bool{false, true} {
		quiet := func() {}
		if busy {
			quiet = program.Builds(ctx, b.Temp)
		}
		for _, per := range []string{"", "launch", "block", "run"} {
			var s *summary
			var err error
			if per == "" {
				s, _, err = b.read(ctx, "run", ".", "--vary", "AA=1,2", "--path", "/example", "-c", "4", "-d", "2s", "-w", "500ms", "--within", b.within, "--", "-addr", "{{.Addr}}")
			} else {
				s, _, err = b.run(ctx, "--need", "db=postgres,seed=schema.sql,seed=data.sql,per="+per, "--vary", "AA=1,2", "--within", b.within)
			}
			if err != nil {
				quiet()
				return err
			}
			fmt.Printf("half-widths, beside builds: %-5t  database: %-7s", busy, cmp.Or(per, "none"))
			for _, metric := range []string{"p50-sec", "cpu-sec/req", "db-cpu-sec/req"} {
				v := s.Settings[1].Versus[metric]
				if v.Lo != nil && v.Hi != nil {
					fmt.Printf("  %s ±%.1f %%", metric, 50*(*v.Hi-*v.Lo))
				}
			}
			fmt.Println()
		}
		quiet()
	}
	return nil
}

// seeds measures what seeds of several sizes cost: dyno's own words, and the time from the start of a launch to the load.
func seeds(ctx context.Context, b *bench) error {
	dir, err := os.MkdirTemp(b.Temp, "seeds")
	if err != nil {
		return err
	}
	for _, mb := range []int{1, 100, 1000} {
		// A row of 1 kB; Postgres itself takes 23 MB.
		file := filepath.Join(dir, fmt.Sprintf("fill%d.sql", mb))
		text := fmt.Sprintf("create table fill (t text);\ninsert into fill select repeat(md5(n::text), 31) from generate_series(1, %d) n;\n", mb*1000)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		began := time.Now()
		run := filepath.Join(b.Dir, fmt.Sprintf("seed%d", mb))
		cmd := exec.CommandContext(ctx, b.Dyno, "run", "-f", "dyno.yaml", "--out", run, "--vary", "AA=1,2", "--vary", "LINES=join", "--repeat", "6", "-n", "100",
			"--need", "db=postgres,seed=schema.sql,seed=data.sql,seed="+file)
		cmd.Dir = b.orders
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		whole := time.Since(began).Seconds()
		said := ""
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "seeded") {
				said = strings.TrimSpace(line)
			}
		}
		fmt.Printf("seed with %4d MB: the run of 12 launches took %.1f s; dyno said: %s\n", mb, whole, said)
	}
	return nil
}

// relay compares a delay with none, and a relay without delay with no relay.
func relay(ctx context.Context, b *bench) error {
	// At a rate, so that all settings rest as long between requests: a database that rests is slower.
	load := []string{"--rate", "25/s", "--repeat", "6", "-d", "4s"}
	for _, c := range []struct {
		lines      string
		statements float64
	}{{"join", 1}, {"each", 11}} {
		const delay = 2e-3
		s, _, err := b.run(ctx, append(load, "--vary", "needs.db.delay=0s,2ms", "--vary", "LINES="+c.lines)...)
		if err != nil {
			return err
		}
		rise := s.Settings[1].Values["p50-sec"].Center - s.Settings[0].Values["p50-sec"].Center
		want := delay * c.statements
		b.goals.Judge(fmt.Sprintf("a delay of 2 ms, %.0f statements: p50 rises by %.0f ms", c.statements, 1e3*want), fmt.Sprintf("%.2f ms", 1e3*rise), rise > 0.95*want && rise < 1.05*want)
	}
	// With a need of its own that has no relay: the same database beside one that is away by nothing.
	p50, cpu := [2]float64{}, [2]float64{}
	for i, more := range [][]string{nil, {"--vary", "needs.db.delay=0s"}} {
		s, _, err := b.run(ctx, append(append(load, "--vary", "AA=1,2"), more...)...)
		if err != nil {
			return err
		}
		p50[i] = s.Settings[0].Values["p50-sec"].Center
		cpu[i] = s.Settings[0].Values["generator-cpu-frac"].Center
	}
	fmt.Printf("a relay without delay, in a run of its own: p50 %.0f µs more, dyno's CPU %.2f %% of its cores instead of %.2f\n", 1e6*(p50[1]-p50[0]), 100*cpu[1], 100*cpu[0])
	return nil
}
