package advice

import (
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/stats"
)

// changed is a table of a baseline and a setting whose primary metrics changed by ratios.
func changed(ratios map[string]float64) *compare.Table {
	t := &compare.Table{Trials: 12, Planned: 12, Blocks: 6, Settings: []compare.Setting{
		{Setting: dyno.Setting{{Factor: "X", Value: "0"}}, Trials: 6, Values: map[string]compare.Summary{}},
		{Setting: dyno.Setting{{Factor: "X", Value: "1"}}, Trials: 6, Values: map[string]compare.Summary{}, Versus: map[string]compare.Versus{}},
	}}
	for _, m := range dyno.Metrics {
		ratio, ok := ratios[m.Name]
		if !ok {
			continue
		}
		v := compare.Versus{Ratio: ratio, Lo: ratio * 0.999, Hi: ratio * 1.001, Verdict: stats.Worse}
		if (ratio < 1) == (m.Better < 0) {
			v.Verdict = stats.Better
		}
		t.Rows = append(t.Rows, compare.Row{Metric: m, Key: m.Name})
		t.Settings[1].Versus[m.Name] = v
		for i := range t.Settings {
			t.Settings[i].Values[m.Name] = compare.Summary{Center: 1, Trials: make([]float64, 6)}
		}
	}
	return t
}

// The highest prices are those that doc/method/verdicts.md has.
func TestHighestPrice(t *testing.T) {
	for _, c := range []struct {
		gain   string
		ratio  float64
		price  string
		most   float64
		beside map[string]float64
	}{
		{"cpu-sec/req", 0.97, "rss-peak-B", 1.28, nil},
		{"cpu-sec/req", 0.9, "rss-peak-B", 2.32, nil},
		{"cpu-sec/req", 0.8, "rss-peak-B", 4, nil},
		{"rss-peak-B", 0.984, "p50-sec", 1.016, nil},
		{"rss-peak-B", 0.7, "cpu-sec/req", 1.43, nil},
		{"p99-sec", 0.9, "cpu-sec/req", 1.235, nil},
		{"cpu-sec/req", 0.9, "req/s", 1 / 1.235, nil},
		{"rss-peak-B", 0.7, "cpu-sec/req", 1.299, map[string]float64{"p50-sec": 1.1, "p99-sec": 1.05, "req/s": 1 / 1.1}}, // the other class is paid, too
	} {
		for _, side := range []struct {
			factor float64
			want   Kind
		}{{0.99, Trade}, {1.01, Keep}} {
			factor := side.factor
			if m, _ := dyno.MetricByName(c.price); m.Better > 0 {
				factor = 1 / factor
			}
			ratios := map[string]float64{c.gain: c.ratio, c.price: c.most * factor}
			for metric, ratio := range c.beside {
				ratios[metric] = ratio
			}
			a := Of(changed(ratios))
			if a.Kind != side.want || a.Choices[0].Gain != c.gain || a.Choices[0].Price != c.price {
				t.Errorf("%s ×%v for %s ×%.3f: %s, %+v", c.gain, c.ratio, c.price, ratios[c.price], a.Kind, a.Choices[0])
			}
		}
	}
}

// The price that is named weighs most, whatever comes first in the table.
func TestPriceNamed(t *testing.T) {
	for _, c := range []struct {
		ratios map[string]float64
		price  string
	}{
		{map[string]float64{"p99-sec": 0.5, "p50-sec": 1.05, "cpu-sec/req": 1.2, "rss-peak-B": 1.3}, "cpu-sec/req"},
		{map[string]float64{"p99-sec": 0.5, "p50-sec": 1.05, "cpu-sec/req": 1.06, "rss-peak-B": 1.9}, "rss-peak-B"},
		{map[string]float64{"rss-peak-B": 0.5, "p50-sec": 1.05, "req/s": 0.8, "cpu-sec/req": 1.06}, "req/s"},
	} {
		if got := Of(changed(c.ratios)).Choices[0]; got.Price != c.price || got.More != len(c.ratios)-2 {
			t.Errorf("%v: price %s and %d more", c.ratios, got.Price, got.More)
		}
	}
}

// Nobody chooses the load of a service: settings that differ in nothing else get no advice.
func TestNoAdviceOnLoads(t *testing.T) {
	for _, c := range []struct {
		name    string
		base, x dyno.Setting
		want    bool
	}{
		{"a load", dyno.Setting{{Factor: "load.rate", Value: "100"}}, dyno.Setting{{Factor: "load.rate", Value: "200"}}, false},
		{"a load and GOGC", dyno.Setting{{Factor: "load.rate", Value: "100"}, {Factor: "GOGC", Value: "100"}}, dyno.Setting{{Factor: "load.rate", Value: "200"}, {Factor: "GOGC", Value: "50"}}, true},
		{"GOGC under one load", dyno.Setting{{Factor: "load.rate", Value: "100"}, {Factor: "GOGC", Value: "100"}}, dyno.Setting{{Factor: "load.rate", Value: "100"}, {Factor: "GOGC", Value: "50"}}, true},
		{"nothing", nil, nil, true},
	} {
		table := changed(map[string]float64{"cpu-sec/req": 0.5})
		table.Settings[0].Setting, table.Settings[1].Setting = c.base, c.x
		if got := Of(table) != nil; got != c.want {
			t.Errorf("%s: advice %v, want %v", c.name, got, c.want)
		}
	}
}
