package main

import (
	"fmt"

	"github.com/dynolab/dyno/eval/internal/program"
)

// judgeLeaks holds the verdicts against the truth.
func judgeLeaks(g *program.Goals, outcomes []outcome) {
	var leakless, alarms, failed, strange int
	all := map[bool]*row{true: {}, false: {}} // of goroutines or not
	for _, o := range outcomes {
		if o.Err != "" {
			failed++
			continue
		}
		for _, c := range o.Found {
			if c.Truth > 0 {
				r := all[c.What == "goroutines"]
				r.claims = append(r.claims, c)
			}
		}
		for _, f := range o.False {
			if f == "heap" {
				alarms++
			} else {
				strange++
			}
		}
		if o.Found[0].Truth == 0 {
			leakless++
		}
	}
	g.Judge("every run ended with a verdict", fmt.Sprintf("%d of %d failed", failed, len(outcomes)), failed == 0)
	for _, thing := range []struct {
		name string
		*row
	}{{"memory", all[false]}, {"goroutines", all[true]}} {
		if len(thing.claims) == 0 {
			continue
		}
		over := thing.count((*claim).over)
		found := thing.count(func(c *claim) bool { return c.over() && c.leaking() })
		g.Judge(thing.name+": at least 95 % of leaks over the stated power are found", share(found, over), over > 0 && float64(found) >= 0.95*float64(over))
		named := thing.count(func(c *claim) bool { return c.leaking() && len(c.Sites) > 0 })
		right := thing.count(func(c *claim) bool { return c.leaking() && c.RightSite })
		g.Judge(thing.name+": the first place named is the right one", share(right, named), named > 0 && right == named)
	}
	if leakless > 0 {
		g.Judge("memory: not one false leak in the leakless", share(alarms, leakless), alarms == 0)
	}
	g.Judge("other things: not one false leak in all runs", share(strange, len(outcomes)-failed), strange == 0 && failed < len(outcomes))
}

// judgePower holds the runs of the part power against the goal.
func judgePower(g *program.Goals, outcomes []outcome) {
	var all row
	for _, o := range outcomes {
		all.claims = append(all.claims, o.Found...)
	}
	n := len(outcomes)
	over, found := all.count((*claim).over), all.count(func(c *claim) bool { return c.leaking() && c.RightSite })
	g.Judge("the leak is over the stated power", share(over, n), n > 0 && over == n)
	g.Judge("it is found, and where", share(found, n), n > 0 && found == n)
}

func share(n, of int) string { return fmt.Sprintf("%d of %d", n, of) }
