package stats

// CompareRanks compares every setting with the baseline like [Compare], by ranks
// of the blocks' log ratios.
func CompareRanks(blocks [][]float64, looks []int) []Comparison { return nil }
