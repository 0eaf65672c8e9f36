package findings

import (
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/certify"
	"github.com/dynolab/dyno/internal/store"
)

// robust are metrics that other work on the machine hardly disturbs: counts, peaks, and CPU time in turns
// (doc/ci.md).
var robust = []string{"cpu/req", "alloc/req", "allocs/req", "rss-peak"}

// visible is the largest change of a response time that a gate may miss in half of the runs.
const visible = 0.10

// Robust returns the metrics that a gate can judge on a machine with other work: the robust ones, and the
// response times for which the service's certificate shows that small changes are found. The certificate must
// be of this machine and load. It may be of an older version of the service, since the change is what the
// gate judges. seen has these response times, each with the change that half of the runs find.
func Robust(e *dyno.Experiment, host store.Host) (metrics []string, seen []certify.Limit) {
	metrics = slices.Clone(robust)
	path, err := CertificatePath(&e.Subject)
	if err != nil {
		return metrics, nil // without a home directory there is no certificate
	}
	c, err := ReadCertificate(path)
	if err != nil {
		return metrics, nil // most services have no certificate
	}
	if why := c.Expired(Identities(e, host, nil)...); slices.ContainsFunc(why, func(x certify.Expiry) bool {
		return x != certify.OtherService && x != certify.OtherTurns
	}) {
		return metrics, nil
	}
	for _, l := range c.Limits() {
		if (l.Metric == "p50-sec" || l.Metric == "p99-sec") && l.Size <= visible {
			metrics, seen = append(metrics, strings.TrimSuffix(l.Metric, "-sec")), append(seen, l)
		}
	}
	return metrics, seen
}
