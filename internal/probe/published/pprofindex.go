package published

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno/internal/probe"
)

// Index reads the index page of net/http/pprof where a service publishes nothing better: how
// many goroutines and threads there are, which is cheap to count.
type Index struct{}

func (Index) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	if t.Pprof == "" {
		return probe.Reading{}, errors.New("watch pprof: the plan does not say where (consider: pprof: /debug/pprof)")
	}
	t.Every = max(t.Interval(), indexEvery)
	return scrape(ctx, t, "pprof", indexPage(t.Pprof), "text/html", new(published), parseIndex)
}

// indexEvery is the least time between index pages: goroutines leak over minutes, and a page
// is dear beside a reading of /proc.
const indexEvery = time.Second

// indexPage ends in a slash, as the service would redirect otherwise.
func indexPage(url string) string { return strings.TrimSuffix(url, "/") + "/" }

// indexCount is a count before the link to its profile, in the words of all Go versions.
// threadcreate has a record for each live thread.
var (
	indexCount = regexp.MustCompile(`>(\d+)(?:</td>)?\s*<td><a href=['"]?[^'" >]*?\b(goroutine|threadcreate)\?debug=1`)
	indexNames = map[string]string{"goroutine": "goroutines", "threadcreate": "threads"}
)

func parseIndex(page []byte) ([]number, error) {
	var numbers []number
	for _, m := range indexCount.FindAllSubmatch(page, -1) {
		v, _ := strconv.ParseFloat(string(m[1]), 64) // digits
		name := indexNames[string(m[2])]
		numbers = append(numbers, number{name, v, use{most: name, series: name}})
	}
	if len(numbers) == 0 {
		return nil, errors.New("the page is not the index of net/http/pprof: it counts no goroutines")
	}
	return numbers, nil
}
