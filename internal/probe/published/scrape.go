// Package published reads the pages where a service publishes metrics: package expvar, Prometheus
// metrics and the index of net/http/pprof. Profiles are package profiles'.
package published

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
)

const (
	pageMost = 16 << 20 // bytes
	// The window's first and last page tell what grew, so they get more time.
	endTime   = 5 * time.Second
	leastTime = 500 * time.Millisecond
)

// scrape parses the page at a URL at once, every t.Every, and when ctx ends, and returns what
// w has of them. It is an error if the first page fails, or all others; other missing pages
// are a warning.
func scrape(ctx context.Context, t probe.Target, name, url, accept string, w *published, parse func(page []byte) ([]number, error)) (probe.Reading, error) {
	conn, err := newPageConn(url, accept, t.Insecure)
	if err != nil {
		return probe.Reading{}, fmt.Errorf("watch %s: %w", name, err)
	}
	defer conn.close()
	w.points.Sample = t.Sample
	between := min(max(t.Interval()/2, leastTime), endTime)
	tried, failed, whole := 0, 0, false
	var last error
	err = probe.Watch(ctx, t, func(at time.Duration) error {
		end := ctx.Err() != nil
		// The end of ctx must not break off a page under way.
		limit := between
		if at == 0 || end {
			limit = endTime
		}
		page, err := conn.get(limit)
		var numbers []number
		if err == nil {
			numbers, err = parse(page)
		}
		if err == nil {
			w.sample(at, numbers)
		}
		tried++
		if whole = end && err == nil; err != nil {
			failed++
			last = fmt.Errorf("ask %s: %w", conn.url.Redacted(), err)
		}
		if at == 0 {
			return last
		}
		return nil
	})
	if err == nil && failed == tried-1 && last != nil {
		err = fmt.Errorf("got only the first of %d pages: %w", tried, last)
	}
	if err != nil {
		return probe.Reading{}, fmt.Errorf("watch %s: %w", name, err)
	}
	r := w.reading(whole)
	if failed > 0 {
		missing := ""
		if !whole {
			missing = "the page at the end of the window and all totals are missing; "
		}
		r.Warnings.AddOf(dyno.WarnProbe, name, "probe %s: %s%d of %d pages failed: %v", name, missing, failed, tried, last)
	}
	return r, nil
}

func readPage(to *bytes.Buffer, r io.Reader, most int64) error {
	to.Reset()
	n, err := io.Copy(to, io.LimitReader(r, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("the page has more than %d bytes", most)
	}
	return err
}
