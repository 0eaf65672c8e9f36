package goruntime

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// A histogram is the buckets of a Float64Histogram that hold something, ascending.
type histogram []bucket

type bucket struct{ lo, hi, count float64 }

// grownHistogram is a histogram's growth from the first answer to the second; nil if the
// second does not have it.
func grownHistogram(first, second []byte, name string) (histogram, error) {
	a, err1 := findHistogram(first, name)
	b, err2 := findHistogram(second, name)
	if err := cmp.Or(err1, err2); err != nil {
		return nil, err
	}
	for i := range b {
		for len(a) > 0 && a[0].lo < b[i].lo {
			a = a[1:]
		}
		if len(a) > 0 && a[0].lo == b[i].lo {
			b[i].count = max(0, b[i].count-a[0].count)
		}
	}
	return b, nil
}

// findHistogram reads the line "NAME h LO,HI,COUNT ..." of an answer; nil if absent.
func findHistogram(answer []byte, name string) (histogram, error) {
	for line := range bytes.Lines(answer) {
		text, ok := bytes.CutPrefix(line, []byte(name))
		if !ok || !bytes.HasPrefix(text, []byte(" h")) {
			continue
		}
		h := histogram{}
		for field := range bytes.FieldsSeq(text[2:]) {
			b, err := parseBucket(field)
			if err == nil && len(h) > 0 && !(h[len(h)-1].lo < b.lo) {
				err = errors.New("buckets not in order")
			}
			if err != nil {
				return nil, fmt.Errorf("parse metric %s: %w", name, err)
			}
			h = append(h, b)
		}
		return h, nil
	}
	return nil, nil
}

func parseBucket(field []byte) (b bucket, err error) {
	_, err = fmt.Sscanf(string(field), "%g,%g,%g", &b.lo, &b.hi, &b.count)
	if err == nil && (!(b.lo < b.hi) || !(b.count >= 0) || math.IsInf(b.count, 0)) {
		err = fmt.Errorf("bad bucket %q", field)
	}
	return b, err
}

// edges are a bucket's bounds; an infinite one is replaced by the other.
func (b bucket) edges() (lo, hi float64) {
	lo, hi = b.lo, b.hi
	if math.IsInf(lo, 0) {
		lo = hi
	}
	if math.IsInf(hi, 0) {
		hi = lo
	}
	return lo, hi
}

func (b bucket) mid() float64 {
	lo, hi := b.edges()
	return (lo + hi) / 2
}

// sum is NaN for a histogram that the answer does not have, as is max.
func (h histogram) sum() float64 {
	if h == nil {
		return math.NaN()
	}
	s := 0.0
	for _, b := range h {
		s += b.count * b.mid()
	}
	return s
}

func (h histogram) max() float64 {
	if h == nil {
		return math.NaN()
	}
	for _, b := range slices.Backward(h) {
		if b.count > 0 {
			return b.mid()
		}
	}
	return 0
}

// quantile spreads a bucket's content evenly over it; NaN for an empty histogram.
func (h histogram) quantile(q float64) float64 {
	n := 0.0
	for _, b := range h {
		n += b.count
	}
	left := q * n
	for _, b := range h {
		if left <= b.count && b.count > 0 {
			lo, hi := b.edges()
			return lo + (hi-lo)*left/b.count
		}
		left -= b.count
	}
	return math.NaN()
}
