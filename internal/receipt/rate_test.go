package receipt

import (
	"fmt"
	"math"
	"testing"
)

// ofReceipt is a check with an outcome for each word, each of another metric.
func ofReceipt(id, after string, words ...Word) Check {
	c := Check{Receipt: id, From: "predict", AfterID: after}
	for i, w := range words {
		o := Outcome{Setting: gogc("50"), Metric: string(rune('a' + i)), Word: w, Level: 0.9}
		if w == Untold {
			o.Reason = LoadChanged
		}
		c.Outcomes = append(c.Outcomes, o)
	}
	return c
}

// A promise counts once, in parts if one After tells that it held and another that it did not. Doubts count apart, and so do changes,
// which are promised with another level than the figure itself.
func TestRates(t *testing.T) {
	doubtful, change := ofReceipt("2", "x", Missed), ofReceipt("1", "x", Held)
	doubtful.Outcomes[0].Doubted = true
	today := gogc("100")
	change.Outcomes[0].Against, change.Outcomes[0].Level = &today, 0.95
	checks := []Check{ofReceipt("1", "x", Held, Untold, Untold), ofReceipt("1", "y", Missed, Held, Untold), ofReceipt("1", "z", Missed), doubtful, change}
	all, each := Rates(checks, false)
	if math.Abs(all.Held-(1/3.0+1+1)) > 1e-9 || all.Told != 3 || all.Untold != 1 || all.Reasons[LoadChanged] != 1 || len(each) != 4 {
		t.Errorf("%+v %+v", all, each)
	}
	if figure, ratio := each[0], each[1]; figure.Change || figure.Told != 1 || figure.Level != 0.9 || !ratio.Change || ratio.Told != 1 || ratio.Level != 0.95 {
		t.Errorf("the figure: %+v, its change: %+v", figure, ratio)
	}
	if doubted, _ := Rates(checks, true); doubted.Held != 0 || doubted.Told != 1 {
		t.Errorf("%+v", doubted)
	}
	if none, _ := Rates(nil, false); !math.IsNaN(none.Share) || !math.IsNaN(none.Lo) {
		t.Errorf("%+v", none)
	}
}

// Promises of one receipt that fail together, or hold, are no more evidence than one, however often they are checked.
func TestRatesOfOneReceipt(t *testing.T) {
	var apart, together, always, often []Check
	for i := range 30 {
		id, w := fmt.Sprint(i), Held
		if i%10 == 9 {
			w = Missed
		}
		apart = append(apart, ofReceipt(id, id, w))
		together = append(together, ofReceipt(id, id, w, w, w, w, w))
		always = append(always, ofReceipt(id, id, Held, Held))
		often = append(often, ofReceipt("one", id, Held, Held))
	}
	one, _ := Rates(apart, false)
	for name, c := range map[string]struct {
		checks []Check
		told   int
		lo, hi float64
	}{
		"30 receipts":                        {apart, 30, 0.744, 0.965},
		"five promises each, as one":         {together, 150, one.Lo, one.Hi},
		"two each, and all held":             {always, 60, 0.886, 1},
		"one receipt, checked 30 times":      {often, 2, 0.207, 1},
		"three receipts of which one failed": {together[7:10], 15, 0.208, 0.939},
	} {
		if r, _ := Rates(c.checks, false); r.Told != c.told || math.Abs(r.Lo-c.lo) > 0.01 || math.Abs(r.Hi-c.hi) > 0.01 {
			t.Errorf("%s: %d told, [%.3f, %.3f], want %d, [%.3f, %.3f]", name, r.Told, r.Lo, r.Hi, c.told, c.lo, c.hi)
		}
	}
}
