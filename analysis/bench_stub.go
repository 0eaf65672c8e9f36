package analysis

// To be deleted when the rooms are merged.

type BenchJudgement struct {
	Package, Name string
	Judgement
}
