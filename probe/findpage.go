package probe

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// ErrNotPublished is what [Ask] wraps where a service answers, but not with the page.
var ErrNotPublished = errors.New("not published")

// Ask asks a service once for a page that the probe of a name reads: expvar,
// prometheus or pprof. The error wraps [ErrNotPublished] if the service answered.
func Ask(name, page string, insecure bool) error {
	if name == "pprof" {
		page = indexPage(page)
	}
	req, err := http.NewRequest(http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "dyno")
	if name == "prometheus" {
		req.Header.Set("Accept", promText)
	}
	s := &scraper{client: http.Client{Transport: transport(Target{Insecure: insecure})}, req: req}
	defer s.client.CloseIdleConnections()
	text, err := s.fetch(true)
	var silent *url.Error
	var status statusError
	switch {
	case errors.As(err, &status):
		return fmt.Errorf("%w: %s", ErrNotPublished, string(status))
	case errors.As(err, &silent):
		return fmt.Errorf("ask %s: %w", req.URL.Redacted(), silent.Err)
	case err != nil:
		return fmt.Errorf("%w: %v", ErrNotPublished, err)
	}
	switch name {
	case "expvar":
		_, err = parseVars(text)
	case "pprof":
		_, err = parseIndex(text)
	default:
		var numbers []number
		if numbers, err = newPromWatch(nil).parse(text); err == nil && len(numbers) == 0 {
			err = errors.New("the page has no metrics of Prometheus that begin with go_ or process_")
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %v", ErrNotPublished, err)
	}
	return nil
}
