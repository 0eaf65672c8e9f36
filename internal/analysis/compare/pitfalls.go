package compare

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/pitfall"
	"github.com/dynolab/dyno/internal/stats"
)

func (run *benchRun) pitfalls(benchmarks []*Benchmark) []pitfall.Found {
	var all []pitfall.Benchmark
	for n, d := range run.data {
		b := pitfall.Benchmark{Package: d.pkg, Name: d.name, N: benchmarks[n].N}
		for i := range run.settings {
			s := pitfall.Setting{Survey: d.surveys[i], Go: run.minor[i]}
			if secs := d.centers("sec/op", i); len(secs) > 0 {
				s.Turn, s.Fastest = stats.Median(secs), slices.Min(secs)
			}
			b.Settings = append(b.Settings, s)
		}
		all = append(all, b)
	}
	return pitfall.Find(all, run.bench.CPUs)
}

var goVersion = regexp.MustCompile(`\bgo1\.([0-9]{1,4})`)

// goMinor is x of the toolchain go1.x that a result was made with; 0 if not known.
func goMinor(r *dyno.Result) int {
	text := r.Subject
	for _, l := range r.Trial.Setting {
		if l.Factor == "go" {
			text += " go" + strings.TrimPrefix(l.Value, "go")
		}
	}
	m := goVersion.FindStringSubmatch(text + " go" + r.Trial.Subject.Go)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}
