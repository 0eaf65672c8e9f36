package kernel

import "time"

// A rise tells whether memory still grew when a window ended: it has the most of the last third and the most of the
// time before. It keeps at most mostReadings readings. In a long window one of them stands for several.
type rise struct {
	at    []time.Duration
	value []float64
	n     int // readings that the last one stands for
	each  int // that one stands for when it is full
}

const mostReadings = 1024

func (r *rise) add(at time.Duration, v float64) {
	r.each = max(r.each, 1)
	if len(r.at) == 0 || r.n >= r.each {
		if len(r.at) == mostReadings {
			for i := range mostReadings / 2 {
				r.at[i], r.value[i] = r.at[2*i+1], max(r.value[2*i], r.value[2*i+1])
			}
			r.at, r.value, r.each = r.at[:mostReadings/2], r.value[:mostReadings/2], 2*r.each
		}
		r.at, r.value, r.n = append(r.at, at), append(r.value, v), 1
		return
	}
	last := len(r.at) - 1
	r.at[last], r.value[last], r.n = at, max(r.value[last], v), r.n+1
}

// most is the most of the first two thirds, and of the last; 0 if they are not known.
func (r *rise) most() (before, late float64) {
	if len(r.at) < 6 {
		return 0, 0
	}
	end := r.at[len(r.at)-1]
	for i, at := range r.at {
		if at <= end*2/3 {
			before = max(before, r.value[i])
		} else {
			late = max(late, r.value[i])
		}
	}
	return before, late
}
