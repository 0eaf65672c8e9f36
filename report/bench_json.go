package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/dynolab/dyno/analysis/profiles"
)

// BenchJSON writes the report as summary.json has it, indented: what [JSON] does,
// and behind it pitfalls and, each absent without any, the others:
//
//	pitfalls[] kind, benchmarks (package.name), text
//	why[]      benchmark (package.name), setting, differences: as of [profiles.Diff], a kind of profile each
//	baseline   the comparison with a file: as of [benchstat.Tables]
//
// The error is w's.
func BenchJSON(w io.Writer, r *BenchReport) error {
	spell(r.Table)
	text, err := json.MarshalIndent(r.Table, "", "  ")
	if err != nil {
		return err
	}
	var whys []whyJSON
	for _, y := range r.Whys {
		j := whyJSON{Benchmark: y.Benchmark, Setting: y.Setting}
		for _, p := range y.Parts {
			j.Profiles = append(j.Profiles, p.Diff)
		}
		whys = append(whys, j)
	}
	more := func(key string, value any) error {
		data, err := json.MarshalIndent(value, "  ", "  ")
		// The table is an object with fields, and these come behind them.
		text = fmt.Appendf(bytes.TrimSuffix(text, []byte("\n}")), ",\n  %q: %s\n}", key, data)
		return err
	}
	err = more("pitfalls", append([]pitfallNote{}, newBenchView(r.Table, 0).pitfalls()...))
	if len(whys) > 0 && err == nil {
		err = more("why", whys)
	}
	if r.Against != nil && err == nil {
		err = more("baseline", r.Against)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

type whyJSON struct {
	Benchmark string           `json:"benchmark"`
	Setting   string           `json:"setting"`
	Profiles  []*profiles.Diff `json:"differences"`
}
