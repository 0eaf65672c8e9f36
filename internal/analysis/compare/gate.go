package compare

// Demands are what must hold of a table beside its thresholds.
type Demands struct {
	Strict   bool // nothing may be unclear: no threshold or, without any, no comparison
	NotWorse bool // nothing may be worse, as Worse counts it, and no benchmark broken
	Worse    int  // comparisons outside the table that are worse
}

// A Refusal is why a table does not pass.
type Refusal struct {
	Kind      RefusalKind
	Count     int        // of thresholds or comparisons
	Benchmark *Benchmark // of RefusedBroken
}

// A RefusalKind is what a table is refused for.
type RefusalKind string

const (
	RefusedThreshold RefusalKind = "threshold" // thresholds failed
	RefusedWorse     RefusalKind = "worse"     // comparisons are worse
	RefusedBroken    RefusalKind = "broken"    // a benchmark fails, and not in the baseline
	RefusedUnclear   RefusalKind = "unclear"   // thresholds are unclear
	RefusedUndecided RefusalKind = "undecided" // comparisons are unclear
)

// Unclear reports whether more measuring could still decide.
func (r *Refusal) Unclear() bool { return r.Kind == RefusedUnclear || r.Kind == RefusedUndecided }

// Refuse judges the table as a whole; nil if it passes. What failed comes before what
// is unclear.
func (t *Table) Refuse(d Demands) *Refusal {
	failed, unclear := t.Gate()
	if failed > 0 {
		return &Refusal{Kind: RefusedThreshold, Count: failed}
	}
	if d.NotWorse {
		if worse := t.Worse() + d.Worse; worse > 0 {
			return &Refusal{Kind: RefusedWorse, Count: worse}
		}
		if b := t.Broken(); b != nil {
			return &Refusal{Kind: RefusedBroken, Count: 1, Benchmark: b}
		}
	}
	switch undecided := t.Undecided(); {
	case !d.Strict:
	case unclear > 0:
		return &Refusal{Kind: RefusedUnclear, Count: unclear}
	case len(t.Thresholds) == 0 && undecided > 0: // who has named limits wants these decided, not every comparison
		return &Refusal{Kind: RefusedUndecided, Count: undecided}
	}
	return nil
}
