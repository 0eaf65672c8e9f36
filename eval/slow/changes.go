//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/dynolab/dyno/eval/internal/program"
)

// holds are for how long a lock is held in the settings that are compared with the first.
var holds = []string{"5ms", "5000us", "6ms", "7ms", "8ms"}

// changes counts how often the line of a changed wait is named as the change of p99, and how often any line is where
// nothing changed.
func changes(ctx context.Context, p program.Place, o options) error {
	named, others := map[string]int{}, map[string]int{}
	for n := range o.runs {
		out := filepath.Join(p.Dir, fmt.Sprint("changes", n))
		cmd := exec.CommandContext(ctx, p.Dyno, "run", "./slow/service", "--vary", "arg.hold="+strings.Join(holds, ","), "--rate", "800/s",
			"-d", o.length.String(), "-w", "0s", "--repeat", "1", "--alone", "--why-slow", "--json", "--out", out, "--", "-addr", "{{.Addr}}", "-hold", "{{.arg.hold}}")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		data, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%w: %s", err, program.LastLine(stderr.String()))
		}
		var s struct {
			Settings []struct {
				Setting string
				Moved   *struct {
					At    struct{ Diff, Lo, Hi float64 } `json:"change-sec"`
					Moves []struct {
						Part   string
						Func   string
						Sure   bool
						Change struct{ Diff, Lo, Hi float64 } `json:"change-sec"`
					}
				} `json:"why-moved"`
			}
		}
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		for _, x := range s.Settings {
			if x.Moved == nil {
				continue
			}
			at := x.Moved.At
			fmt.Printf("%-18s p99 %+.2f ms [%+.2f, %+.2f]", x.Setting, 1e3*at.Diff, 1e3*at.Lo, 1e3*at.Hi)
			hit, miss := false, false
			for _, m := range x.Moved.Moves {
				if m.Sure {
					fmt.Printf("  %s %s %+.2f [%+.2f, %+.2f]", m.Part, m.Func, 1e3*m.Change.Diff, 1e3*m.Change.Lo, 1e3*m.Change.Hi)
					is := m.Part == "sync" && strings.HasSuffix(m.Func, "(*cache).get")
					hit, miss = hit || is, miss || !is
				}
			}
			fmt.Println()
			if hit {
				named[x.Setting]++
			}
			if miss {
				others[x.Setting]++
			}
		}
	}
	for _, h := range holds[1:] {
		name := "arg.hold=" + h
		fmt.Printf("%-18s the line is named in %d of %d runs, another in %d\n", name, named[name], o.runs, others[name])
	}
	return nil
}
