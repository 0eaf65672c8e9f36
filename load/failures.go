package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/load/http1"
	"io"
	"maps"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// CauseTimeout is the cause of requests that ran into a time limit.
const CauseTimeout = "timeout"

var streamNumber = regexp.MustCompile(`(stream ID|LastStreamID=|last stream) ?\d+[;,]? ?`)

// cause names an error's cause in few words, without addresses, so that equal
// causes count together.
func cause(err error) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.DeadlineExceeded), os.IsTimeout(err):
		return CauseTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many open files"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "no free local port"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed"
	case errors.As(err, &dns):
		return "host not found"
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	s := streamNumber.ReplaceAllString(err.Error(), "")
	return s[:min(len(s), 80)]
}

// cures has what most often helps against a cause, by a pattern of causes.
var cures = []struct{ causes, cure string }{
	{"^(connection (refused|reset|closed)|host not found)$", "whether the service is still up at this address; its log may say why not"},
	{"^" + CauseTimeout + "$", "a longer timeout, or less load"},
	{"^not sent in time$", "a lower rate, or more concurrency"},
	{"^(too many open files|no free local port)$", "a lower concurrency, or a higher ulimit -n"},
	{"^status (429$|5)", "less load; the service's log may say why"},
	{"x509:|certificate", "insecure: true (--insecure), if its certificate may be one that nobody vouches for"},
	{"TLS handshake", "http:// in its address, if it does not speak TLS there"},
	{"frame", "http: 1.1 (--http 1.1), if it does not speak HTTP/2 there"},
	{"^" + string(http1.ErrStatusLine) + "$", "whether it speaks HTTP/1.1 at this address, or https:// in it"},
	{"^status 400$", "https:// in its address, if it speaks TLS there, or else the step's path, headers and body"},
	{"^status ", "expect: in the step if this status is right, or else its path, headers and body"},
	{"", "the step's path and captures"},
}

func cure(cause string) string {
	i := slices.IndexFunc(cures, func(c struct{ causes, cure string }) bool {
		return regexp.MustCompile(c.causes).MatchString(cause)
	})
	return cures[i].cure
}

// WarnOfFailures adds a warning if requests failed.
func (r *Record) WarnOfFailures() {
	if r.Failed > 0 {
		r.Warnings.Add(dyno.WarnFailures, "%d of %d requests failed: %s", r.Failed, r.Requests, causes(r.Failures))
	}
}

// MostFrequent returns the most frequent cause of failures, "" if none failed.
func (r *Record) MostFrequent() string {
	if len(r.Failures) == 0 {
		return ""
	}
	return ranked(r.Failures)[0]
}

func causes(m map[string]int) string {
	var list []string
	for _, c := range ranked(m) {
		list = append(list, fmt.Sprintf("%s (%d)", c, m[c]))
	}
	return strings.Join(list, ", ")
}

func ranked(m map[string]int) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(m[b]-m[a], strings.Compare(a, b))
	})
}
