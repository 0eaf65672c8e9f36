package report

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
)

// remembering adds snapshots to results: of a runtime that was asked, of five
// settings, the last of which has not collected; the second of them is a service with
// memory that is not Go's.
func remembering(rs []*dyno.Result) []*dyno.Result {
	const MiB = 1 << 20
	for n, r := range rs {
		i := float64(n % len(study))
		s := dyno.Snapshot{
			File: 7.25 * MiB, Live: 11.5 * MiB, Dead: (2.6 + 8*i) * MiB, Unused: 1.75 * MiB, Idle: (9.1 - i) * MiB, Released: 2.5 * MiB,
			Stacks: 0.6 * MiB, Metadata: (3.5 + i/4) * MiB, Other: 1.9 * MiB,
		}
		if i == 4 {
			s.Dead, s.Live = s.Dead+s.Live, 0
		}
		s.RSS = s.File + s.Mapped() - 2.7*MiB
		if i == 1 {
			s.RSS += 14 * MiB
		}
		add := func(stage string, at time.Duration, rss, idle float64) {
			c := s
			c.Stage, c.At, c.RSS = stage, at, rss
			c.Idle, c.Released = idle, c.Released+s.Idle-idle
			r.Memory = append(r.Memory, c)
		}
		add(dyno.StageReady, -time.Second, 24*MiB, MiB)
		add(dyno.StageEnd, 2*time.Second, s.RSS, s.Idle)
		add(dyno.StageIdle, 12*time.Second, s.RSS-i*MiB, s.Idle-i*MiB)
	}
	return rs
}

// resting are trials ForMemory of settings.
func resting(es []effects) []*dyno.Result {
	rs := remembering(synthetic(1, es))
	for i, r := range rs {
		r.Trial.N, r.Trial.For = 100+i, dyno.ForMemory
		freed := r.Memory[2]
		freed.Stage, freed.At, freed.RSS, freed.Dead, freed.Idle = dyno.StageFreed, 13*time.Second, 24.5*(1<<20), 0, 1<<19
		r.Memory = append(r.Memory, freed)
	}
	return rs
}

// ofKernel leaves what the kernel alone knows.
func ofKernel(rs []*dyno.Result) []*dyno.Result {
	for _, r := range rs {
		for i, s := range r.Memory {
			r.Memory[i] = dyno.Snapshot{Stage: s.Stage, At: s.At, RSS: s.RSS, File: s.File}
		}
	}
	return rs
}

// residentText is the two tables alone.
func residentText(tb *compare.Table, width int) []byte {
	v := tables.NewView(tb, width)
	var b strings.Builder
	for _, build := range []func() (layout.Section, bool){v.Resident, v.GivenBack} {
		s, ok := build()
		if !ok {
			continue
		}
		b.WriteString(layout.Fold(s.Title, "", "", width))
		for _, g := range s.Grids {
			b.WriteByte('\n')
			g.Text(&b, false)
		}
		b.WriteByte('\n')
		for _, n := range s.Notes {
			b.WriteString(layout.Fold(n, "", "", width))
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

func TestResident(t *testing.T) {
	all := slices.Concat(remembering(synthetic(3, study)), resting(study))
	golden(t, "resident.txt", residentText(table(all, study), 100))
	golden(t, "resident-80.txt", residentText(table(all, study), 80))
	// One setting, whose trials rest after forced collections.
	load := []effects{{nil, 1, 1, 1}}
	one := remembering(synthetic(2, load))
	for _, r := range one {
		r.Memory = slices.Insert(r.Memory, 2, dyno.Snapshot{Stage: dyno.StageAfter, RSS: 1})
		r.Memory[3].RSS = 30 << 20
	}
	golden(t, "resident-one.txt", residentText(table(one, load), 100))
	golden(t, "resident-kernel.txt", residentText(table(ofKernel(remembering(synthetic(1, study[:2]))), study[:2]), 100))
	if got := residentText(table(synthetic(1, study), study), 100); len(got) > 0 {
		t.Errorf("without snapshots there is a table:\n%s", got)
	}
}

// The tables are in the report, and what they show is in its JSON.
func TestResidentInReport(t *testing.T) {
	tb := table(slices.Concat(remembering(synthetic(1, study)), resting(study)), study)
	if all := text(t, tb, layout.Options{}); !strings.Contains(all, "Where the resident memory is") || !strings.Contains(all, "Memory given back") {
		t.Error("the report lacks a table")
	}
	var b bytes.Buffer
	if err := JSON(&b, &tables.Report{Table: tb}); err != nil {
		t.Fatal(err)
	}
	var j struct {
		Settings []struct {
			Resident struct {
				Left float64       `json:"left-B"`
				End  dyno.Snapshot `json:"end"`
				Back struct {
					Own      bool          `json:"own"`
					Rest     float64       `json:"rest-sec"`
					Returned float64       `json:"returned-B"`
					Freed    dyno.Snapshot `json:"freed"`
				} `json:"given-back"`
			} `json:"resident"`
		} `json:"settings"`
	}
	if err := json.Unmarshal(b.Bytes(), &j); err != nil {
		t.Fatal(err)
	}
	r := j.Settings[2].Resident
	if sum := r.End.File + r.End.Mapped() + r.Left; math.Abs(sum-r.End.RSS) > 1 || r.Left >= 0 {
		t.Errorf("parts are %.0f bytes of %.0f, %.0f of them left", sum, r.End.RSS, r.Left)
	}
	if !r.Back.Own || r.Back.Rest != 10 || r.Back.Returned != 2<<20 || r.Back.Freed.RSS != 24.5*(1<<20) {
		t.Errorf("given back: %+v", r.Back)
	}
}
