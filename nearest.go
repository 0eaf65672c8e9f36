package dyno

// Nearest returns the name that word most likely meant, or "".
func Nearest(word string, names []string) string {
	best, at := "", len(word)/3+2
	for _, name := range names {
		if dist := editDistance(word, name); dist < at {
			best, at = name, dist
		}
	}
	return best
}

// editDistance is the Levenshtein distance in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
