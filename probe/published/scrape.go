// Package published reads the pages on which a service tells of itself: package expvar,
// Prometheus metrics and the index of net/http/pprof. Profiles are package profiles'.
package published

import (
	"bytes"
	"context"
	"fmt"
	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/probe"
	"io"
	"time"
)

// A scraper asks for one page of the service, again and again, over one
// connection. What that costs the service, doc/method.md tells.
type scraper struct {
	every time.Duration

	tried, failed int
	err           error // the last
	whole         bool  // the page at the end of the window was had
}

const (
	pageMost = 16 << 20 // bytes
	// The pages of the two ends tell what grew over the window: for them there
	// is more time than for the others, which may be missed.
	endTime   = 5 * time.Second
	leastTime = 500 * time.Millisecond
)

// scrape hands the page at a URL to read at once, every t.Every, and when ctx
// ends. It is an error if the first page is not had, or none after it; pages
// that are missing in between are a warning.
func scrape(ctx context.Context, t probe.Target, url, accept string, read func(at time.Duration, page []byte) error) (*scraper, error) {
	conn, err := newPageConn(url, accept, t.Insecure)
	if err != nil {
		return nil, err
	}
	defer conn.close()
	s := &scraper{every: t.Interval()}
	err = probe.Watch(ctx, t, func(at time.Duration) error {
		end := ctx.Err() != nil
		// It does not look at the watch's context, whose end must not break off a
		// page under way.
		page, err := conn.get(s.limit(at == 0 || end))
		if err == nil {
			err = read(at, page)
		}
		s.tried++
		if s.whole = end && err == nil; err != nil {
			s.failed++
			s.err = fmt.Errorf("ask %s: %w", conn.url.Redacted(), err)
		}
		if at == 0 {
			return s.err
		}
		return nil
	})
	if err == nil && s.failed == s.tried-1 && s.err != nil {
		err = fmt.Errorf("only the first of %d pages was had: %w", s.tried, s.err)
	}
	return s, err
}

// limit is how long a page may take.
func (s *scraper) limit(end bool) time.Duration {
	if end {
		return endTime
	}
	return min(max(s.every/2, leastTime), endTime)
}

// readPage reads a page of a bounded size.
func readPage(to *bytes.Buffer, r io.Reader, most int64) error {
	to.Reset()
	n, err := io.Copy(to, io.LimitReader(r, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("the page has more than %d bytes", most)
	}
	return err
}

// warnings are the doubts that pages which were not had leave.
func (s *scraper) warnings(name string) (ws dyno.Warnings) {
	end := ""
	if !s.whole {
		end = "the page at the end of the window is missing, and with it all totals; "
	}
	if s.failed > 0 {
		ws.AddOf(dyno.WarnProbe, name, "probe %s: %s%d of %d pages were not had: %v", name, end, s.failed, s.tried, s.err)
	}
	return ws
}
