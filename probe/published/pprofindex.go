package published

import (
	"bytes"
	"context"
	"errors"
	"github.com/dynolab/dyno/probe"
	"strings"
	"time"
)

// Index reads the index page of net/http/pprof where a service publishes nothing better: how
// many goroutines and threads there are, which is cheap to count.
type Index struct{}

func (Index) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	if t.Pprof == "" {
		return probe.Reading{}, errors.New("watch pprof: nobody says where it is (consider: pprof: /debug/pprof)")
	}
	t.Every = max(t.Interval(), indexEvery)
	w := published{}
	return scrape(ctx, t, "pprof", indexPage(t.Pprof), "text/html", &w, func(at time.Duration, page []byte) error {
		numbers, err := parseIndex(page)
		if err == nil {
			w.sample(at, numbers)
		}
		return err
	})
}

// indexEvery is the least time between index pages: goroutines leak over minutes, and a page
// is dear beside a reading of /proc.
const indexEvery = time.Second

// indexPage ends in a slash, as the service would redirect otherwise.
func indexPage(url string) string { return strings.TrimSuffix(url, "/") + "/" }

// indexUses are the profiles that are counts. threadcreate has a record for each live thread.
var indexUses = []struct {
	name string
	use  use
}{
	{"goroutine", use{most: "goroutines", series: "goroutines"}},
	{"threadcreate", use{most: "threads", series: "threads"}},
}

// parseIndex reads a table with each count before the link to its profile, in the words of
// all Go versions.
func parseIndex(page []byte) ([]number, error) {
	var numbers []number
	for _, u := range indexUses {
		before, _, ok := bytes.Cut(page, []byte(u.name+"?debug=1"))
		if !ok {
			continue
		}
		if v, ok := lastCount(before); ok {
			numbers = append(numbers, number{u.name, v, u.use})
		}
	}
	if len(numbers) == 0 {
		return nil, errors.New("the page is not the index of net/http/pprof: it counts no goroutines")
	}
	return numbers, nil
}

// lastCount reads the cell before a link: <td>5</td><td><a href=".
func lastCount(before []byte) (v float64, ok bool) {
	link := bytes.LastIndex(before, []byte("<td>"))
	if link < 0 {
		return 0, false
	}
	cell := bytes.TrimSuffix(bytes.TrimSpace(before[:link]), []byte("</td>"))
	digits := cell[bytes.LastIndexByte(cell, '>')+1:]
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		v = 10*v + float64(d-'0')
	}
	return v, len(digits) > 0
}
