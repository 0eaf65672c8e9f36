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

// CauseTimeout is the cause of requests that ran into a time limit: they would
// have been the slowest.
const CauseTimeout = "timeout"

// streamNumber is what distinguishes equal errors of HTTP/2.
var streamNumber = regexp.MustCompile(`(stream ID|LastStreamID=|last stream) ?\d+[;,]? ?`)

// cause names the cause of an error in few words, without addresses, so that
// equal causes count together.
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
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			break
		}
		err = inner
	}
	s := streamNumber.ReplaceAllString(err.Error(), "")
	return s[:min(len(s), 80)]
}

// cure is what most often helps against a cause.
func cure(cause string) string {
	switch {
	case cause == "connection refused", cause == "connection reset", cause == "connection closed", cause == "host not found":
		return "whether the service is still up at this address; its log may say why not"
	case cause == CauseTimeout:
		return "a longer timeout, or less load"
	case cause == "not sent in time":
		return "a lower rate, or more concurrency"
	case cause == "too many open files", cause == "no free local port":
		return "a lower concurrency, or a higher ulimit -n"
	case cause == "status 429", strings.HasPrefix(cause, "status 5"):
		return "less load; the service's log may say why"
	case strings.Contains(cause, "x509:"), strings.Contains(cause, "certificate"):
		return "insecure: true (--insecure), if its certificate may be one that nobody vouches for"
	case strings.Contains(cause, "TLS handshake"):
		return "http:// in its address, if it does not speak TLS there"
	case strings.Contains(cause, "frame"):
		return "http: 1.1 (--http 1.1), if it does not speak HTTP/2 there"
	case cause == string(http1.ErrStatusLine):
		return "whether it speaks HTTP/1.1 at this address, or https:// in it"
	case cause == "status 400":
		return "https:// in its address, if it speaks TLS there, or else the step's path, headers and body"
	case strings.HasPrefix(cause, "status "):
		return "expect: in the step if this status is right, or else its path, headers and body"
	}
	return "the step's path and captures"
}

// WarnOfFailures adds a warning if requests failed.
func (r *Record) WarnOfFailures() {
	if r.Failed > 0 {
		r.Warnings.Add(dyno.WarnFailures, "%d of %d requests failed: %s", r.Failed, r.Requests, causes(r.Failures))
	}
}

// MostFrequent is the most frequent cause of failures, "" if none failed.
func (r *Record) MostFrequent() string {
	if len(r.Failures) == 0 {
		return ""
	}
	return ranked(r.Failures)[0]
}

// causes lists failures, the most frequent first.
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
