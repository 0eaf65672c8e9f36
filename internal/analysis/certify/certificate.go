// Package certify says what a machine can see of a service: how often runs of equal settings were
// called changed, and how often a change of known size was found.
//
// It owns how a run is judged without knowing what was planted in it, the key that says so
// afterwards, the arithmetic of the shares, what amounts make a change of a size, and when a
// certificate has expired. It runs nothing and reads no files; the sentences are package words'.
package certify

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/stats"
)

// A Kind says what is planted.
type Kind string

const (
	Equal  Kind = "equal"  // nothing
	CPU    Kind = "cpu"    // CPU time of each request, as a share of what one takes
	Tail   Kind = "p99"    // waits of some requests, so that p99 is longer by a share of it
	Memory Kind = "memory" // bytes that stay, so that a launch has resident at its end a share of it more
	Lock   Kind = "lock"   // a lock that all requests need, which each holds for a share of its CPU time and works
	Burn   Kind = "burn"   // a share of one CPU that a goroutine works, whether requests come or not
)

// Kinds are all but Equal, in the order of reports.
var Kinds = []Kind{CPU, Tail, Memory, Lock, Burn}

// metrics are where a kind is found if one of them is worse.
var metrics = map[Kind][]string{
	CPU: {"cpu-sec/req"}, Tail: {"p99-sec"}, Memory: {"rss-peak-B"}, Lock: {"p50-sec", "p99-sec", "req/s"},
	Burn: {"cpu-sec/req", "p99-sec", "req/s"},
}

// A Change is what is planted in the runs of one sort.
type Change struct {
	Kind Kind    `json:"kind"`
	Size float64 `json:"size-frac"` // as the Kind says; 0 of Equal
}

// AnswerKind and Schema are of the file's envelope; the schema is its version.
const (
	AnswerKind = "certificate"
	Schema     = 1
)

// A Certificate is what came of a campaign.
type Certificate struct {
	answer.Envelope[answer.Setting, string] // made when the last run was judged; a file of an older dyno has no kind, plan, settings and notes

	Service   string    `json:"service"` // as the user named it
	Of        Identity  `json:"of"`
	Load      string    `json:"load"`                 // in words
	How       string    `json:"how"`                  // side by side, or one launch after the other, in words
	Within    float64   `json:"within-sec,omitempty"` // most time of a run; 0 if its blocks were given
	Unplanted string    `json:"unplanted,omitempty"`  // why nothing could be planted; then all runs are of equal settings
	Base      *Base     `json:"base,omitempty"`       // of the service without a change; nil if nothing was planted
	Amounts   []Amount  `json:"amounts,omitempty"`    // what was planted
	Outcomes  []Outcome `json:"outcomes"`             // in the order of the runs
}

// An Outcome is one run, after it was judged and what was planted is known.
type Outcome struct {
	Judged
	Change
	Found bool `json:"found"` // of Equal: that anything was called changed, a false alarm
}

// Runs counts the outcomes that are not failures, and these.
func (c *Certificate) Runs() (good, failed int) {
	for _, o := range c.Outcomes {
		if o.Err != "" {
			failed++
		} else {
			good++
		}
	}
	return good, failed
}

// A Share is how the runs of one change came out.
type Share struct {
	Change
	Runs, Found int
	Lo, Hi      float64       // 95 % interval of the share that is found
	Ratio       float64       // of the metric that is Shown: median of the runs; NaN if it is unknown
	Elapsed     time.Duration // median of the runs
}

// Shares lists the changes: Equal first, then by kind and size.
func (c *Certificate) Shares() (shares []Share) {
	for _, o := range c.Outcomes {
		if o.Err == "" && !slices.ContainsFunc(shares, func(s Share) bool { return s.Change == o.Change }) {
			shares = append(shares, Share{Change: o.Change})
		}
	}
	slices.SortFunc(shares, func(a, b Share) int {
		return cmp.Or(cmp.Compare(slices.Index(Kinds, a.Kind), slices.Index(Kinds, b.Kind)), cmp.Compare(a.Size, b.Size))
	})
	for i := range shares {
		s := &shares[i]
		var ratios, times []float64
		for _, o := range c.Outcomes {
			if o.Err != "" || o.Change != s.Change {
				continue
			}
			s.Runs++
			if o.Found {
				s.Found++
			}
			if x, ok := o.of(Shown(s.Kind)); ok && x.Ratio > 0 {
				ratios = append(ratios, float64(x.Ratio))
			}
			times = append(times, o.Elapsed)
		}
		s.Lo, s.Hi = ShareInterval(s.Found, s.Runs)
		s.Ratio = middle(ratios)
		s.Elapsed = time.Duration(middle(times) * 1e9)
	}
	return shares
}

// Shown is the metric that shows a kind of change best.
func Shown(k Kind) string {
	if k == Equal {
		k = CPU
	}
	return metrics[k][0]
}

// middle is the median; NaN of none.
func middle(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	return stats.Median(xs)
}

// OfKind returns the shares of one kind, by size.
func (c *Certificate) OfKind(k Kind) []Share {
	return slices.DeleteFunc(c.Shares(), func(s Share) bool { return s.Kind != k })
}

// A Limit is the change of a primary metric that half of the runs would call one.
type Limit struct {
	Metric string
	Size   float64 // a fraction; +Inf if half of the runs would have called no change one
}

// Limits lists the primary metrics in the order of reports, by the median of all runs: what was
// planted moves a metric, not how well it is known.
func (c *Certificate) Limits() (limits []Limit) {
	for _, m := range dyno.Metrics {
		var sizes []float64
		for _, o := range c.Outcomes {
			if x, ok := o.of(m.Name); ok && o.Err == "" {
				size := float64(x.Visible)
				if !(size > 0) { // not known
					size = math.Inf(1)
				}
				sizes = append(sizes, size)
			}
		}
		if len(sizes) > 0 {
			slices.Sort(sizes)
			limits = append(limits, Limit{m.Name, sizes[len(sizes)/2]}) // of two in the middle the worse, which may be infinite
		}
	}
	return limits
}
