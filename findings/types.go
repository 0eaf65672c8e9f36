package findings

import (
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/stats"
	"github.com/dynolab/dyno/internal/store"
)

// Names for the types that a caller outside of dyno has to write. Their fields are public, as all of this
// package is that needs no other type of a package below internal.
type (
	// A Dir is a run directory that Open has read: Path, Run, and the methods Results, Collections, Series,
	// Requests and Notes, which read. The methods that write are for dyno.
	Dir = store.Dir

	// A Table is what a run found: the cells of Rows × Settings, the baseline first. The method Versus returns
	// one comparison.
	Table = compare.Table
	// A Row is what is compared over the settings: a metric of a service, or a unit of a benchmark.
	Row = compare.Row
	// A Setting is one column of a Table; its field Setting has the levels.
	Setting = compare.Setting
	// A Summary is the median of one row in one setting, with its interval. Setting.Values has it by Row.Key.
	Summary = compare.Summary
	// A Versus is the comparison of one row of a setting with the baseline.
	Versus = compare.Versus
	// A Verdict is the word for a comparison.
	Verdict = stats.Verdict

	// A Judgement is one threshold of one row and one setting.
	Judgement = compare.Judgement
	// An Outcome is the word for a judgement.
	Outcome = compare.Outcome
	// Demands are what must hold of a table beside its thresholds; see Findings.Refuse.
	Demands = compare.Demands
	// A Refusal is why a table does not pass.
	Refusal = compare.Refusal
)

// The verdicts.
const (
	Better  = stats.Better    // a change in the wanted direction
	Worse   = stats.Worse     // a change in the other direction
	Same    = stats.Same      // no change beyond what the plan calls negligible
	Unclear = stats.Unclear   // the trials cannot tell
	Differs = compare.Differs // two runs of different times differ, and the reason is not known
)

// The outcomes of a threshold. That of one that the trials cannot judge is "unclear", too.
const (
	Passed = compare.Passed
	Failed = compare.Failed
)

// Open reads a run directory, also while dyno writes to it. It takes no lock and writes nothing, so there is
// nothing to close. For the results, pass the Dir to Read.
func Open(path string) (*Dir, error) { return store.Read(path) }
