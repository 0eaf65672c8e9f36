package capacity

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dynolab/dyno"
)

// An Objective is a threshold that says which share of the requests may be beyond a limit: "p99 < 30ms" lets 1 %
// be slower, "failures < 0.1%" lets 0.1 % fail. Requests that fail, or are never sent, are slower than any limit.
type Objective struct {
	dyno.Threshold
	Share float64
	Limit time.Duration // of the latency; 0: the objective is about failures
}

// Holds reports whether so many of n requests may be beyond the limit.
func (o Objective) Holds(beyond, n float64) bool { return beyond <= o.Share*n }

// ParseObjective reads a percentile of latency, or "failures" with a share.
func ParseObjective(text string) (Objective, error) {
	t, err := dyno.ParseThreshold(text)
	if err != nil {
		return Objective{}, err
	}
	bad := func(why string, args ...any) (Objective, error) {
		return Objective{}, fmt.Errorf("bad objective %q: %s", text, fmt.Sprintf(why, args...))
	}
	if t.Change || t.Op != "<" && t.Op != "<=" {
		return bad("want < and a limit (for example p99 < 30ms or failures < 0.1%%)")
	}
	if t.Name == "failures" {
		v, err := dyno.ParseFraction(t.Literal)
		if err != nil || !strings.HasSuffix(t.Literal, "%") || strings.ContainsAny(t.Literal, "xX") || v <= 0 || v >= 1 {
			return bad("want a share of the requests (for example failures < 0.1%%)")
		}
		return Objective{Threshold: t, Share: float64(v)}, nil
	}
	at := len(dyno.Percentiles) - 1
	for at >= 0 && dyno.ThresholdName(dyno.Percentiles[at].Metric) != t.Name {
		at--
	}
	if at < 0 {
		return bad("a rate changes many things, but only a percentile of latency or failures is an objective (want for example p99 < 30ms)")
	}
	_, limit, err := t.Of(nil)
	if err != nil {
		return Objective{}, err
	}
	if limit <= 0 {
		return bad("no request is that fast (want for example %s < 30ms)", t.Name)
	}
	share := math.Round((1-dyno.Percentiles[at].Share)*1e6) / 1e6
	return Objective{Threshold: t, Share: share, Limit: time.Duration(math.Round(limit * 1e9))}, nil
}
