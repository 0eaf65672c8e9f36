// Package certify says what a machine can see of a service: how often runs of equal settings were
// called changed, and how often a change of known size was found.
//
// It owns how a run is judged without knowing what was planted in it, the arithmetic of the shares,
// what amounts make a change of a size, and when a certificate has expired. It runs nothing and reads
// no files; the sentences are package words'.
package certify

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/stats"
)

// A Kind says what is planted.
type Kind string

const (
	Equal  Kind = "equal"  // nothing
	CPU    Kind = "cpu"    // CPU time of each request, as a share of what one takes
	Tail   Kind = "p99"    // waits of some requests, so that p99 is longer by a share of it
	Memory Kind = "memory" // bytes that stay, so that a launch has resident at its end a share of it more
	Lock   Kind = "lock"   // a lock that each request holds for a share of the median latency
)

// Kinds are all but Equal, in the order of reports.
var Kinds = []Kind{CPU, Tail, Memory, Lock}

// metrics are where a kind is found if one of them is worse.
var metrics = map[Kind][]string{
	CPU: {"cpu-sec/req"}, Tail: {"p99-sec"}, Memory: {"rss-peak-B"}, Lock: {"p50-sec", "p99-sec", "req/s"},
}

// A Change is what is planted in the runs of one sort.
type Change struct {
	Kind Kind    `json:"kind"`
	Size float64 `json:"size-frac"` // as the Kind says; 0 of Equal
}

// A Judged is what was found of one run by somebody who did not know what was planted in it.
type Judged struct {
	Verdicts map[string]stats.Verdict
	Ratios   map[string]stats.Comparison
	Blocks   int
	Whole    bool // every primary metric of a service that both sides have was compared
}

// Judge judges a run of two settings by its primary metrics. Both settings must have trials, or
// nothing is whole.
func Judge(t *compare.Table) Judged {
	j := Judged{Verdicts: map[string]stats.Verdict{}, Ratios: map[string]stats.Comparison{}, Blocks: t.Blocks}
	if len(t.Settings) != 2 {
		return j
	}
	j.Whole = true
	for _, row := range t.Rows {
		v, ok := t.Settings[1].Versus[row.Key]
		if !row.Primary || !ok {
			continue
		}
		j.Verdicts[row.Name], j.Ratios[row.Name] = v.Verdict, v.Comparison
		j.Whole = j.Whole && v.Comparison.N >= 2
	}
	j.Whole = j.Whole && len(j.Verdicts) > 0
	return j
}

// An Outcome is one run, after it was judged and what was planted is known.
type Outcome struct {
	Change
	Found   bool     `json:"found"`             // of Equal: that anything was called changed, a false alarm
	Changed []string `json:"changed,omitempty"` // primary metrics that are better or worse
	Tested  int      `json:"tested"`            // primary metrics that were compared
	Ratio   float64  `json:"ratio,omitempty"`   // of the first metric of the kind, of Equal cpu-sec/req; 0 if it is unknown
	Lo      float64  `json:"lo,omitempty"`      // its 95 % interval
	Hi      float64  `json:"hi,omitempty"`
	Blocks  int      `json:"blocks"`
	Elapsed float64  `json:"elapsed-sec"`
	Err     string   `json:"error,omitempty"` // why the run is no outcome: it counts for nothing
}

// Open says what came of a judged run, now that it is known what was planted.
func (j Judged) Open(c Change) Outcome {
	o := Outcome{Change: c, Tested: len(j.Verdicts), Blocks: j.Blocks}
	for name, v := range j.Verdicts {
		if v == stats.Better || v == stats.Worse {
			o.Changed = append(o.Changed, name)
		}
		o.Found = o.Found || v == stats.Worse && slices.Contains(metrics[c.Kind], name)
	}
	slices.Sort(o.Changed)
	first := metrics[CPU][0]
	if c.Kind == Equal {
		o.Found = len(o.Changed) > 0
	} else {
		first = metrics[c.Kind][0]
	}
	if x, ok := j.Ratios[first]; ok && x.Lo > 0 && !math.IsInf(x.Hi, 0) { // false for NaN
		o.Ratio, o.Lo, o.Hi = x.Ratio, x.Lo, x.Hi
	}
	return o
}

// Identity is what a certificate is of. It expires where another is measured.
type Identity struct {
	Kernel  string `json:"kernel"`
	CPU     string `json:"cpu"` // model
	CPUs    int    `json:"cpus"`
	Subject string `json:"subject"` // the executable: Go version and revision
	Load    string `json:"load"`
}

// Schema is the version of the file.
const Schema = 1

// A Certificate is what came of a campaign.
type Certificate struct {
	Schema    int       `json:"schema"`
	Dyno      string    `json:"dyno"` // version
	Made      time.Time `json:"made"`
	Service   string    `json:"service"` // as the user named it
	Of        Identity  `json:"of"`
	Within    float64   `json:"within-sec"`          // most time of a run
	Unplanted string    `json:"unplanted,omitempty"` // why nothing could be planted; then all runs are of equal settings
	Base      *Base     `json:"base,omitempty"`      // of the service without a change; nil if nothing was planted
	Amounts   []Amount  `json:"amounts,omitempty"`   // what was planted
	Outcomes  []Outcome `json:"outcomes"`            // in the order of the runs
}

// An Expiry is why a certificate does not hold for a run.
type Expiry string

const (
	OtherKernel  Expiry = "kernel"
	OtherCPU     Expiry = "cpu" // model or number
	OtherService Expiry = "service"
	OtherLoad    Expiry = "load"
)

// Expired lists why the certificate does not hold where now is measured; nil if it does. A run of
// several executables has one Identity for each: it is enough if one of them is the certificate's.
func (c *Certificate) Expired(now ...Identity) (why []Expiry) {
	differs := func(x Expiry, same func(Identity) bool) {
		if !slices.ContainsFunc(now, same) {
			why = append(why, x)
		}
	}
	differs(OtherKernel, func(i Identity) bool { return i.Kernel == c.Of.Kernel })
	differs(OtherCPU, func(i Identity) bool { return i.CPU == c.Of.CPU && i.CPUs == c.Of.CPUs })
	differs(OtherService, func(i Identity) bool { return i.Subject == c.Of.Subject })
	differs(OtherLoad, func(i Identity) bool { return i.Load == c.Of.Load })
	return why
}

// A Share is how the runs of one change came out.
type Share struct {
	Change
	Runs, Found int
	Lo, Hi      float64       // 95 % interval of the share that is found
	Ratio       float64       // median of the runs; NaN if it is unknown
	Half        float64       // median half-width of their intervals, as a fraction; NaN if it is unknown
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
		var ratios, halves, times []float64
		for _, o := range c.Outcomes {
			if o.Err != "" || o.Change != s.Change {
				continue
			}
			s.Runs++
			if o.Found {
				s.Found++
			}
			if o.Ratio > 0 {
				ratios, halves = append(ratios, o.Ratio), append(halves, math.Sqrt(o.Hi/o.Lo)-1)
			}
			times = append(times, o.Elapsed)
		}
		s.Lo, s.Hi = ShareInterval(s.Found, s.Runs)
		s.Ratio, s.Half = middle(ratios), middle(halves)
		s.Elapsed = time.Duration(middle(times) * 1e9)
	}
	return shares
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
