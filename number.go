package dyno

import (
	"encoding/json"
	"math"
)

// number is written as null where it is not finite, since JSON has no NaN.
type Number float64

func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}
