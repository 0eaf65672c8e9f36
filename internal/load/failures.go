package load

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/cause"
	"github.com/dynolab/dyno/internal/load/http1"
)

// CauseTimeout is the cause of requests that ran into a time limit.
const CauseTimeout = cause.Timeout

// A failure is why a request failed, in few words without addresses, so that equal
// causes count together, and what most often helps.
type failure struct{ cause, cure string }

const cureStep = "the step's path and captures"

var streamNumber = regexp.MustCompile(`(stream ID|LastStreamID=|last stream) ?\d+[;,]? ?`)

// failureOf names what failed in a request of an HTTP version, as [dyno.Load] has it.
func failureOf(err error, version string) failure {
	f := failure{cure: cureStep}
	if name := cause.Of(err); name != "" {
		return failure{name, cause.Cure(name)}
	}
	switch {
	case errors.As(err, new(*tls.CertificateVerificationError)):
		f.cure = "insecure: true (--insecure), if its certificate need not be trusted"
	case errors.As(err, new(tls.RecordHeaderError)):
		f.cure = "http:// in its address, if it does not speak TLS there"
	case errors.Is(err, http1.ErrStatusLine):
		f.cure = "whether it speaks HTTP/1.1 at this address, or https:// in it"
	case version == "2":
		f.cure = "http: 1.1 (--http 1.1), if it does not speak HTTP/2 there"
	}
	f.cause = streamNumber.ReplaceAllString(cause.Text(err), "")
	return f
}

// badStatus is the failure of an answer that its step does not accept.
func badStatus(status int) failure {
	f := failure{fmt.Sprintf("status %d", status), "expect: in the step if this status is right, or else its path, headers and body"}
	switch {
	case status == 429, status >= 500:
		f.cure = "less load; the service's log may say why"
	case status == 400:
		f.cure = "https:// in its address (addr:, --addr, if dyno launches it), if it speaks TLS there, or else the step's path, headers and body"
	case status == http.StatusSwitchingProtocols:
		f.cure = "an Upgrade header in the step, if it should switch protocols"
	}
	return f
}

// WarnOfFailures adds a warning if requests failed.
func (r *Record) WarnOfFailures() {
	if r.Failed > 0 {
		r.Warnings.Add(dyno.WarnFailures, "%d of %d requests failed: %s", r.Failed, r.Requests, causes(r.Failures, r.Examples))
	}
}

// MostFrequent returns the most frequent cause of failures, "" without failures.
func (r *Record) MostFrequent() string {
	if len(r.Failures) == 0 {
		return ""
	}
	return ranked(r.Failures)[0]
}

// withExample adds an example of a request to the text of a failure; "" adds nothing.
func withExample(what, example string) string {
	if example != "" {
		what += ", such as " + example
	}
	return what
}

// causes lists them, and of the most frequent an example.
func causes(m map[string]int, examples map[string]string) string {
	var list []string
	for i, c := range ranked(m) {
		n := strconv.Itoa(m[c])
		if i == 0 {
			n = withExample(n, examples[c])
		}
		list = append(list, c+" ("+n+")")
	}
	return strings.Join(list, ", ")
}

func ranked(m map[string]int) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(m[b]-m[a], strings.Compare(a, b))
	})
}
