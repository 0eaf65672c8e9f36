package export

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
)

// A family is the samples of one name.
type family struct {
	name, unit, help string
	samples          []string
}

// OpenMetrics writes the table as OpenMetrics text 1.0: a gauge for each metric in
// seconds, bytes or a ratio, with the labels run, setting, one for each factor, stat
// (median, lo, hi), of the latency of a step, step, and of benchmarks, whose gauges are
// dyno_benchmark_…, package and benchmark; the change of those that are
// compared; how many trials finished; how the thresholds came out. What the service
// itself publishes is dyno_service with the label metric. What is not known is left
// out. The error is w's.
func OpenMetrics(w io.Writer, t *compare.Table) error {
	var fs []*family
	get := func(name, unit, help string) *family {
		i := slices.IndexFunc(fs, func(f *family) bool { return f.name == name })
		if i < 0 {
			i = len(fs)
			fs = append(fs, &family{name: name, unit: unit, help: help})
		}
		return fs[i]
	}
	labels := settingLabels(t)
	for _, m := range t.Rows {
		name, unit, step := Exposed(m.Name)
		extra := benchmarkLabels(m.Benchmark)
		if step != "" {
			extra = labelled("step", step)
		}
		help := m.Help
		if m.Benchmark != nil {
			name, unit = exposedUnit(m.Name)
			help = m.Name + " of benchmarks"
		} else if name == "dyno_service" {
			help, extra = "published by the service itself", labelled("metric", m.Name)
		} else if base, _, ok := strings.Cut(help, " of step "); ok {
			help = base
		}
		f := get(name, unit, help)
		change := get(strings.TrimSuffix(name, "_"+unit)+"_change_ratio", "ratio", "change against the baseline, within blocks: "+help)
		for i := range t.Settings {
			s := &t.Settings[i]
			x, ok := s.Values[m.Key]
			if !ok {
				continue
			}
			f.gauge(labels[i]+extra, "median", x.Center, x.Lo, x.Hi)
			if v, ok := s.Versus[m.Key]; ok {
				change.gauge(labels[i]+extra, "mean", v.Ratio-1, v.Lo-1, v.Hi-1)
			}
		}
	}
	trials := get("dyno_trials", "", "trials that finished")
	for i := range t.Settings {
		if t.Kind != compare.OfBenchmarks {
			trials.sample(labels[i], float64(t.Settings[i].Trials))
		}
	}
	passed := get("dyno_threshold_passed", "", "1 if the threshold passed, 0 if it failed, 0.5 if it is unclear")
	for _, j := range t.Thresholds {
		of := labelled("run", RunName(t.Name))
		if j.Setting >= 0 {
			of = labels[j.Setting]
		}
		passed.sample(of+benchmarkLabels(j.Benchmark)+labelled("threshold", j.Threshold.String()), map[compare.Outcome]float64{compare.Passed: 1, compare.Unclear: 0.5}[j.Outcome])
	}
	var b strings.Builder
	for _, f := range fs {
		f.write(&b)
	}
	b.WriteString("# EOF\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// gauge adds a center, which is the stat, and its interval.
func (f *family) gauge(labels, stat string, center, lo, hi float64) {
	f.sample(labels+labelled("stat", stat), center)
	f.sample(labels+labelled("stat", "lo"), lo)
	f.sample(labels+labelled("stat", "hi"), hi)
}

// sample adds x if it is a number.
func (f *family) sample(labels string, x float64) {
	if !math.IsNaN(x) && !math.IsInf(x, 0) {
		f.samples = append(f.samples, fmt.Sprintf("{%s} %s", strings.TrimSuffix(labels, ","), Exact(x)))
	}
}

func (f *family) write(b *strings.Builder) {
	if len(f.samples) == 0 {
		return
	}
	fmt.Fprintf(b, "# TYPE %s gauge\n", f.name)
	if f.unit != "" {
		fmt.Fprintf(b, "# UNIT %s %s\n", f.name, f.unit)
	}
	if f.help != "" {
		fmt.Fprintf(b, "# HELP %s %s\n", f.name, openEscapes.Replace(f.help))
	}
	for _, s := range f.samples {
		b.WriteString(f.name + s + "\n")
	}
}

var openEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// labelled is a label with a comma behind it.
func labelled(name, value string) string {
	return name + `="` + openEscapes.Replace(strings.ToValidUTF8(value, "\uFFFD")) + `",`
}

// settingLabels are the labels of each setting. Those of factors have no letter
// that labels may not have, and no name that is taken; setting tells apart those
// that would be alike.
func settingLabels(t *compare.Table) []string {
	names := map[string]string{}
	taken := []string{"run", "setting", "step", "package", "benchmark", "stat", "metric", "threshold"}
	out := make([]string, len(t.Settings))
	for i := range t.Settings {
		s := t.Settings[i].Setting
		out[i] = labelled("run", RunName(t.Name)) + labelled("setting", s.String())
		for _, l := range s {
			if names[l.Factor] == "" {
				name := openName(l.Factor)
				for slices.Contains(taken, name) {
					name += "_"
				}
				names[l.Factor] = name
				taken = append(taken, name)
			}
			out[i] += labelled(names[l.Factor], l.Value)
		}
	}
	return out
}

var openOther = regexp.MustCompile("[^a-zA-Z0-9]+")

// openName makes a name of letters, digits and single underscores, which begins
// with a letter.
func openName(s string) string {
	name := strings.Trim(openOther.ReplaceAllString(s, "_"), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "factor_" + name
	}
	return name
}

// benchmarkLabels name a benchmark, which may be nil.
func benchmarkLabels(b *compare.Benchmark) string {
	if b == nil {
		return ""
	}
	return labelled("package", b.Package) + labelled("benchmark", b.Name)
}

// exposedUnit returns the name of a benchmark's unit in OpenMetrics: sec/op is
// dyno_benchmark_time_per_op_seconds, tokens/op dyno_benchmark_tokens_per_op.
func exposedUnit(name string) (gauge, unit string) {
	head, per, found := strings.Cut(name, "/")
	if unit = map[string]string{"sec": "seconds", "B": "bytes"}[head]; unit == "" || !found {
		return "dyno_benchmark_" + openName(strings.ReplaceAll(name, "/", " per ")), ""
	}
	of := map[string]string{"sec": "time", "B": "size"}[head] // apart without the unit, as changes have none
	return "dyno_benchmark_" + of + "_per_" + openName(per) + "_" + unit, unit
}

// Exposed returns the name of a metric in OpenMetrics: p99-sec is dyno_p99_seconds, cpu-sec/req is
// dyno_cpu_per_req_seconds. The name of a step is returned apart.
func Exposed(metric string) (name, unit, step string) {
	if !slices.ContainsFunc(dyno.Metrics, func(m dyno.Metric) bool { return m.Name == metric }) {
		for _, m := range dyno.Metrics {
			if s, ok := strings.CutSuffix(metric, "-"+m.Name); ok && strings.HasSuffix(m.Name, "-sec") {
				step, metric = s, m.Name
				break
			}
		}
		if step == "" {
			return "dyno_service", "", ""
		}
	}
	_, steps := layout.UnitOf(metric)
	unit = map[string]string{"s": "seconds", "GiB": "bytes", "%": "ratio"}[steps[0].Unit]
	name = "dyno_" + openName(dyno.ThresholdName(metric))
	if unit != "" {
		name += "_" + unit
	}
	return name, unit, step
}

// RunName is the name of a run among others', "dyno" if it has none.
func RunName(name string) string {
	if name == "" {
		return "dyno"
	}
	return name
}
