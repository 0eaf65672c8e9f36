package published

import (
	"errors"
	"fmt"
)

// ErrNotPublished is what [Ask] wraps where a service answers, but not with the page.
var ErrNotPublished = errors.New("not published")

// Ask asks a service once for the page of a probe: expvar, prometheus or pprof. The error
// wraps [ErrNotPublished] if the service answered otherwise.
func Ask(name, page string, insecure bool) error {
	accept, parse := "*/*", parseVars
	switch name {
	case "pprof":
		page, parse = indexPage(page), parseIndex
	case "prometheus":
		accept, parse = promText, newPromWatch(nil).parse
	}
	conn, err := newPageConn(page, accept, insecure)
	if err != nil {
		return err
	}
	defer conn.close()
	text, err := conn.get(endTime)
	var status statusError
	var quiet silence
	switch {
	case errors.As(err, &quiet):
		return fmt.Errorf("ask %s: %w", conn.url.Redacted(), err)
	case errors.As(err, &status):
		return fmt.Errorf("%w: %s", ErrNotPublished, string(status))
	case err != nil:
		return fmt.Errorf("%w: %v", ErrNotPublished, err)
	}
	numbers, err := parse(text)
	if err == nil && len(numbers) == 0 {
		err = errors.New("the page has no metrics of the Go runtime")
	}
	if err != nil {
		return fmt.Errorf("%w: %v", ErrNotPublished, err)
	}
	return nil
}
