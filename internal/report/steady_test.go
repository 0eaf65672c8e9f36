package report

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/timeline"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/stats"
)

// lasting is the study with a minute for each trial: steady, drifting, stepped,
// unclear, and unknown.
func lasting() *compare.Table {
	rs := synthetic(3, study)
	of := map[int]*timeline.Steadiness{}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, r := range rs {
		r.Elapsed = time.Minute
		r.Values = append(r.Values, dyno.Value{Metric: "late-frac", Value: 0.004})
		course := func(level float64) timeline.Course {
			t := stats.Trend{N: 60, Shape: stats.Level, Slope: 2e-7, Lo: -4e-7, Hi: 8e-7, Detectable: 2e-6, Shift: math.NaN(), At: math.NaN()}
			return timeline.Course{Trend: t, Level: level, Part: time.Second}
		}
		s := &timeline.Steadiness{Window: time.Minute, Requests: 90_000, P50: course(7e-3), P99: course(10e-3)}
		switch r.Trial.Setting[0].Value {
		case "0":
			s.P50.Shape, s.P50.Slope, s.P50.Lo, s.P50.Hi = stats.Growing, 2.5e-6, 2e-6, 3e-6
		case "50":
			s.P99.Shape, s.P99.Shift, s.P99.At = stats.Stepped, -1.5e-3, 22
		case "150":
			s.P99.Lo, s.P99.Hi, s.P99.Detectable = -3e-5, 4e-5, 1e-4
			for range 100 {
				r.Latency.Add(time.Duration(40e6 * (1 + 0.05*rng.NormFloat64())))
			}
			s.P50.Trend = stats.Trend{N: 3, Shape: stats.Untold, Slope: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Detectable: math.NaN(), Reason: stats.Reason{Kind: stats.FewReadings, N: 3, Of: 8}}
		case "200":
			s = nil
		}
		if s != nil {
			of[r.Trial.N] = s
		}
	}
	return compare.Tabulate(rs, compare.Options{Name: "sessions", Settings: settings(study), Steadiness: of})
}

// A single setting, of a load of a minute, and of one that was short but had two
// modes.
func lastingOne(short bool) *compare.Table {
	rs := synthetic(1, []effects{{nil, 1, 1, 1}})
	of := map[int]*timeline.Steadiness{}
	if short {
		for range 60 {
			rs[0].Latency.Add(70 * time.Millisecond)
		}
	} else {
		c := timeline.Course{Trend: stats.Trend{N: 60, Shape: stats.Level, Slope: 2e-7, Lo: -4e-7, Hi: 8e-7, Detectable: 2e-6}, Level: 7e-3}
		of[1] = &timeline.Steadiness{Window: time.Minute, Requests: 90_000, P50: c, P99: c}
		rs[0].Elapsed = time.Minute
	}
	return compare.Tabulate(rs, compare.Options{Steadiness: of})
}

func TestSteady(t *testing.T) {
	for name, tb := range map[string]*compare.Table{"steady": lasting(), "steady-one": lastingOne(false), "steady-modes": lastingOne(true)} {
		whole := text(t, tb, layout.Options{})
		at := strings.Index(whole, "\nSteadiness of response times\n")
		if at < 0 {
			t.Fatalf("%s: nothing is said of it:\n%s", name, whole)
		}
		// Beside a summary it stands alone, and looks the same.
		var alone bytes.Buffer
		if err := after(&alone, tb, layout.Options{Full: true}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(whole[at:], alone.String()) {
			t.Errorf("%s: beside a summary it is\n%s", name, &alone)
		}
		golden(t, name+".txt", alone.Bytes())
	}
	var b bytes.Buffer
	if err := Markdown(&b, &tables.Report{Table: lasting()}); err != nil {
		t.Fatal(err)
	}
	if want := "<details><summary>Steadiness of response times</summary>\n\n| GOGC | 100 | 0 | 50 | 150 | 200 |\n"; !strings.Contains(b.String(), want) {
		t.Errorf("Markdown lacks %s", want)
	}
	if strings.Contains(text(t, table(synthetic(3, study), study), layout.Options{}), "Steadiness") {
		t.Error("a short run without a second mode has a section on steadiness")
	}
}

// In a short trial with one mode the share that was late is a metric and no table.
func TestSteadyShort(t *testing.T) {
	rs := synthetic(1, []effects{{nil, 1, 1, 1}})
	rs[0].Values = append(rs[0].Values, dyno.Value{Metric: "late-frac", Value: 0.004})
	var text bytes.Buffer
	if err := Text(&text, &tables.Report{Table: compare.Tabulate(rs, compare.Options{Name: "sessions", Settings: []dyno.Setting{nil}})}, layout.Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); strings.Contains(got, "Steadiness") || !strings.Contains(got, "late") {
		t.Errorf("text:\n%s", got)
	}
}
