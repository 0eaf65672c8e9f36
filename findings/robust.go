package findings

import (
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/certify"
	"github.com/dynolab/dyno/internal/store"
)

// robust are what a busy machine shows, too: counts, peaks, and CPU time in turns (doc/ci.md).
var robust = []string{"cpu/req", "alloc/req", "allocs/req", "rss-peak"}

// visible is the change of a response time that half of the runs of a certificate have to find.
const visible = 0.10

// Robust are the metrics that a gate can judge on a machine with other work: robust, and of the response times those of which the
// service's certificate shows small changes. It must be of this machine and load; that the service has changed since is why
// it is judged. seen are those response times, with the change that half of the runs find.
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
