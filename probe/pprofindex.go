package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// pprofIndex reads the index page of net/http/pprof, where a service publishes
// nothing better: how many goroutines and threads there are, which costs it no
// more than to count them.
type pprofIndex struct{}

func (pprofIndex) Watch(ctx context.Context, t Target) (Reading, error) {
	if t.Pprof == "" {
		return Reading{}, errors.New("watch pprof: nobody says where it is (consider: pprof: /debug/pprof)")
	}
	t.Every = max(t.every(), indexEvery)
	w := published{points: points{sample: t.Sample}}
	s, err := scrape(ctx, t, indexPage(t.Pprof), "text/html", func(at time.Duration, page []byte) error {
		numbers, err := parseIndex(page)
		if err == nil {
			w.sample(at, numbers)
		}
		return err
	})
	if err != nil {
		return Reading{}, fmt.Errorf("watch pprof: %w", err)
	}
	r := w.reading(s.whole)
	r.Warnings = append(r.Warnings, s.warnings("pprof")...)
	return r, nil
}

// indexEvery is the least time between index pages: goroutines that leak do so over
// minutes, and a page is dear beside a reading of /proc.
const indexEvery = time.Second

// indexPage is the page itself; without the slash the service would send us there.
func indexPage(url string) string { return strings.TrimSuffix(url, "/") + "/" }

// indexUses are the profiles that are counts. Of threads there is a record for
// each that the runtime has made and that has not ended.
var indexUses = []struct {
	name string
	use  use
}{
	{"goroutine", use{most: "goroutines", series: "goroutines"}},
	{"threadcreate", use{most: "threads", series: "threads"}},
}

// parseIndex reads the index page: a table in which each count stands before the
// link to its profile, in the words of all versions of Go since 1.0.
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

// lastCount is the number in the cell before a link: <td>5</td><td><a href=".
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
