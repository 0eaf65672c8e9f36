//go:build linux

package main

import (
	"fmt"
	"os"
	"sync"

	"github.com/dynolab/dyno/eval/internal/program"
)

// A tally counts what went wrong, by kind.
type tally struct {
	mu     sync.Mutex
	of     map[string]*counts
	groups []string // control groups that were left
}

type counts struct {
	tries, undone                            int     // faults, and those that could not be done
	finished                                 int     // trials
	lost, left, hung, escapes, panics, wrong int     // of finished trials; tries with such a thing
	mib                                      float64 // most memory of a dyno
}

func (c *counts) add(o *counts) {
	c.tries += o.tries
	c.undone += o.undone
	c.finished += o.finished
	c.lost += o.lost
	c.left += o.left
	c.hung += o.hung
	c.escapes += o.escapes
	c.panics += o.panics
	c.wrong += o.wrong
	c.mib = max(c.mib, o.mib)
}

func (t *tally) add(one *try, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &counts{tries: 1, finished: one.finished, lost: one.lost, mib: one.mib}
	if err != nil {
		c.undone = 1
		program.Progress("%s: the fault could not be done: %v", one.id, err)
	}
	for _, bad := range []struct {
		seen  []string
		count *int
	}{{one.left, &c.left}, {one.hung, &c.hung}, {one.escapes, &c.escapes}, {one.panics, &c.panics}, {one.wrong, &c.wrong}} {
		for _, what := range bad.seen {
			*bad.count = 1
			program.Progress("%s: %s", one.id, what)
		}
	}
	if one.lost > 0 {
		program.Progress("%s: %d finished trials lost", one.id, one.lost)
	}
	if t.of == nil {
		t.of = map[string]*counts{}
	}
	if t.of[one.kind.name] == nil {
		t.of[one.kind.name] = &counts{}
	}
	t.of[one.kind.name].add(c)
}

func (t *tally) print(chosen []kind, o options) error {
	fmt.Printf("\n%-36s %6s %7s %5s %5s %5s %6s %7s %7s %6s\n", "fault", "tries", "trials", "lost", "left", "hung", "MiB", "escapes", "panics", "wrong")
	all := &counts{}
	row := func(name string, c *counts) {
		fmt.Printf("%-36s %6d %7d %5d %5d %5d %6.0f %7d %7d %6d\n", name, c.tries-c.undone, c.finished, c.lost, c.left, c.hung, c.mib, c.escapes, c.panics, c.wrong)
	}
	for _, k := range chosen {
		if c := t.of[k.name]; c != nil {
			row(k.name, c)
			all.add(c)
		}
	}
	row("all", all)
	fmt.Printf("\nseed %d\n", o.seed)
	for _, g := range t.groups {
		program.Progress("control group left: %s", g)
	}
	goals := program.Goals{W: os.Stdout, Width: 66}
	none := func(goal string, n int) { goals.Judge(goal, fmt.Sprint(n), n == 0) }
	none("every fault could be done (others)", all.undone)
	none("no finished trial is lost", all.lost)
	none("no process, directory or work tree is left after the next start", all.left)
	none("no control group is left", len(t.groups))
	none("no hang over 60 s", all.hung)
	goals.Judge("dyno's memory stays under 500 MiB", fmt.Sprintf("%.0f", all.mib), all.mib < 500)
	none("nothing that others wrote controls the terminal", all.escapes)
	none("no panic", all.panics)
	none("exit status and errors are as they should be", all.wrong)
	return goals.Conclude(o.check)
}
