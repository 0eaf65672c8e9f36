// Package published reads the pages on which a service tells of itself: package expvar,
// Prometheus metrics and the index of net/http/pprof. Profiles are package profiles'.
package published

import (
	"bytes"
	"context"
	"fmt"
	"github.com/dynolab/dyno/probe"
	"io"
	"time"
)

// A scraper asks for one page again and again; doc/method.md tells what that costs.
type scraper struct {
	every time.Duration

	tried, failed int
	err           error // the last
	whole         bool  // the page at the end of the window was had
}

const (
	pageMost = 16 << 20 // bytes
	// The window's first and last page tell what grew, so they get more time.
	endTime   = 5 * time.Second
	leastTime = 500 * time.Millisecond
)

// scrape hands the page at a URL to read at once, every t.Every, and when ctx ends, and
// returns what w has of them. It is an error if the first page fails, or all others; other
// missing pages are a warning.
func scrape(ctx context.Context, t probe.Target, name, url, accept string, w *published, read func(at time.Duration, page []byte) error) (probe.Reading, error) {
	conn, err := newPageConn(url, accept, t.Insecure)
	if err != nil {
		return probe.Reading{}, fmt.Errorf("watch %s: %w", name, err)
	}
	defer conn.close()
	w.points.Sample = t.Sample
	s := &scraper{every: t.Interval()}
	err = probe.Watch(ctx, t, func(at time.Duration) error {
		end := ctx.Err() != nil
		// The end of ctx must not break off a page under way.
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
	if err != nil {
		return probe.Reading{}, fmt.Errorf("watch %s: %w", name, err)
	}
	r := w.reading(s.whole)
	r.Warnings = append(r.Warnings, s.warnings(name)...)
	return r, nil
}

func (s *scraper) limit(end bool) time.Duration {
	if end {
		return endTime
	}
	return min(max(s.every/2, leastTime), endTime)
}

func readPage(to *bytes.Buffer, r io.Reader, most int64) error {
	to.Reset()
	n, err := io.Copy(to, io.LimitReader(r, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("the page has more than %d bytes", most)
	}
	return err
}

// warnings tell of missing pages.
func (s *scraper) warnings(name string) []string {
	switch {
	case s.failed == 0:
		return nil
	case !s.whole:
		return []string{fmt.Sprintf("probe %s: the page at the end of the window is missing, and with it all totals; %d of %d pages were not had: %v",
			name, s.failed, s.tried, s.err)}
	}
	return []string{fmt.Sprintf("probe %s: %d of %d pages were not had: %v", name, s.failed, s.tried, s.err)}
}
