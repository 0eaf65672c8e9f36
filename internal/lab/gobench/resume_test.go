package gobench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject"
)

// A run that was cut off goes on with its next block, without what failed, and with more blocks where they were asked for.
func TestResume(t *testing.T) {
	f := &fakeBinaries{benches: []fakeBench{{name: "Fast", sec: 1e-6}, {name: "Fails", sec: 1e-6, fails: "no", fromN: 2}, {name: "Known", sec: 1e-6}}}
	cut := errors.New("cut off")
	run := func(e *dyno.Experiment, before []*dyno.Result, most int, sum string) (all []*dyno.Result, err error) {
		all = slices.Clone(before)
		synctest.Test(t, func(t *testing.T) {
			b := f.bencher()
			b.Before = before
			b.Sum = func(context.Context, []*subject.TestPackage) (string, error) { return sum, nil }
			b.Open = func(block int) func(pkg, name string) (bool, int) {
				return func(_, name string) (bool, int) { return name != "Known" || block < 2, 0 }
			}
			_, err = b.Run(t.Context(), e, func(r *dyno.Result) error {
				if len(all) == most {
					return cut
				}
				all = append(all, r)
				return nil
			})
		})
		return all, err
	}
	told := func(rs []*dyno.Result) (lines []string) {
		for _, r := range rs {
			var names []string
			for _, b := range r.Benchmarks {
				names = append(names, b.Name)
			}
			slices.Sort(names)
			lines = append(lines, fmt.Sprintf("%d %d %s%s", r.Trial.N, r.Trial.Block, r.Trial.For, strings.Join(names, " ")))
		}
		return lines
	}
	e := benchAB()
	e.Bench = &dyno.Bench{Duration: dyno.Duration(30 * time.Second)}
	rs, err := run(e, nil, 7, "s") // two surveys, two blocks, and one setting of the third
	if !errors.Is(err, cut) {
		t.Fatal(err)
	}
	e.Bench.Resumed = []dyno.More{{After: 3, Blocks: 2}}
	rs, err = run(e, rs, 100, "s")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1 0 survey", "2 0 survey", "3 1 Fast Known", "4 1 Fast Known", "5 2 Fast Known", "6 2 Fast Known", "7 3 Fast", "8 4 Fast Known", "9 4 Fast Known", "10 5 Fast Known", "11 5 Fast Known"}
	if got := told(rs); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, c := range []struct{ subject, want string }{{"go1.26 abd", "not those of the blocks before"}, {"go1.25 abc", "of go1.26 abc now, of go1.25 abc then"}} {
		rs[0].Subject = c.subject
		if _, err := run(e, rs, 100, "s"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s before: %v, want %s", c.subject, err, c.want)
		}
	}
}

// Once all benchmarks have the blocks that can tell a change, the time goes to those that lack few, as long as they are open and can get them.
func TestNearFirst(t *testing.T) {
	f := &fakeBinaries{benches: []fakeBench{{name: "Wide", sec: 1e-6}, {name: "Near", sec: 1e-6}, {name: "Far", sec: 1e-6}}}
	e := benchAB()
	e.Bench.Blocks, e.Bench.Duration = 0, dyno.Duration(2*time.Minute)
	rs, err := runBench(t, f, e, func(b *Bencher) {
		b.Least = 3
		b.Open = func(block int) func(pkg, name string) (bool, int) {
			lacks := map[string]int{"Near": 7 - block, "Far": 100000}
			return func(_, name string) (bool, int) { return name != "Near" || block < 7, lacks[name] }
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rs {
		var names []string
		for _, b := range r.Benchmarks {
			names = append(names, b.Name)
		}
		slices.Sort(names)
		want := "Far Near Wide"
		switch {
		case r.Trial.For != "":
			continue
		case r.Trial.Block > 7:
			want = "Far Wide"
		case r.Trial.Block > 3:
			want = "Near"
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("block %d has %s, want %s", r.Trial.Block, got, want)
		}
	}
	if last := rs[len(rs)-1].Trial.Block; last < 9 {
		t.Errorf("it ended after block %d", last)
	}
}
