package flags

import "github.com/dynolab/dyno"

// Thresholds reads the values of a flag that may be repeated.
func Thresholds(texts []string) (ths []dyno.Threshold, err error) {
	for _, text := range texts {
		t, err := dyno.ParseThreshold(text)
		if err != nil {
			return nil, err
		}
		ths = append(ths, t)
	}
	return ths, nil
}
