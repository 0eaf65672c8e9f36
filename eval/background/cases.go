//go:build linux

package main

import "fmt"

// A combination is a kind of background work, its share of a CPU, how many settings there are, and a load.
type combination struct {
	kind     string
	share    float64
	settings int
	open     bool
}

// combinations has each kind and share twice, with an open load and a closed one. Two, three and five settings take turns
// in them.
func combinations() (cs []combination) {
	settings := []int{2, 3, 5}
	for i, share := range []float64{0.002, 0.01, 0.05, 0.2, 0.6} {
		for j, kind := range []string{"steady", "100ms", "5s", "after", "load"} {
			for k, open := range []bool{true, false} {
				cs = append(cs, combination{kind, share, settings[(i+j+2*k)%len(settings)], open})
			}
		}
	}
	return cs
}

func (c combination) name() string {
	return fmt.Sprintf("%s:%g %d %s", c.kind, c.share, c.settings, c.arrival())
}

func (c combination) arrival() string {
	if c.open {
		return "open"
	}
	return "closed"
}

func (c combination) load() []string {
	if c.open {
		return []string{"-r", "200/s"}
	}
	return []string{"-c", "4"}
}

// levels are nothing, all of the work, half of it, and then nothing again: who does nothing must not pay for the others.
func (c combination) levels() []string {
	all := []string{"none", fmt.Sprintf("%s:%g", c.kind, c.share), fmt.Sprintf("%s:%g", c.kind, c.share/2), "none-2", "none-3"}
	return all[:c.settings]
}
