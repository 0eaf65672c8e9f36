package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"github.com/dynolab/dyno/jsonskip"
	"io"
	"path/filepath"
)

// A summary is what an entry needs of summary.json.
type summary struct {
	About    []string
	Planned  int
	Trials   int
	Blocks   int
	Failed   int
	Metrics  []measure
	Settings []setting
}

// A setting is one of a summary.
type setting struct {
	Setting  string
	Baseline bool
	Values   map[string]value   // of the metrics that were asked for
	Versus   map[string]verdict // of them
}

type measure struct {
	Name    string `json:"name"`
	Primary bool   `json:"primary"`
	Help    string `json:"help"`
}

type value struct {
	Center, Lo, Hi *float64 // nil where not known
	Saturated      bool     // of the generator, not of the service
}

type verdict struct {
	Ratio, Lo, Hi *float64
	Verdict       string
}

// readSummary reads the summary of a run with its primary metrics and another one,
// "" for none.
func readSummary(path, metric string) (*summary, error) {
	data, err := readFile(filepath.Join(path, "summary.json"))
	if err != nil {
		return nil, err
	}
	return parseSummary(data, metric)
}

func parseSummary(data []byte, metric string) (*summary, error) {
	s, wanted := new(summary), map[string]bool{metric: true}
	var settings int // where they are, as metrics may come later
	c := &jsonskip.Cursor{Data: data}
	c.Object(func(key string) {
		switch key {
		case "about":
			c.Decode(&s.About)
		case "planned":
			c.Decode(&s.Planned)
		case "trials":
			c.Decode(&s.Trials)
		case "blocks":
			c.Decode(&s.Blocks)
		case "failed":
			c.Array(func() { s.Failed++; c.Skip() })
		case "metrics":
			c.Decode(&s.Metrics)
			for _, m := range s.Metrics {
				wanted[m.Name] = wanted[m.Name] || m.Primary
			}
		case "settings":
			if settings = c.At; s.Metrics == nil {
				c.Skip()
				return
			}
			settings = 0
			readSettings(c, s, wanted)
		default:
			c.Skip()
		}
	})
	if settings > 0 && c.Err == nil {
		c.At = settings
		readSettings(c, s, wanted)
	}
	if c.Err != nil {
		return nil, fmt.Errorf("read summary.json: %w", c.Err)
	}
	s.tame()
	return s, nil
}

// settings reads those of a summary, with the metrics that are wanted.
func readSettings(c *jsonskip.Cursor, s *summary, wanted map[string]bool) {
	c.Array(func() {
		x := setting{Values: map[string]value{}, Versus: map[string]verdict{}}
		c.Object(func(key string) {
			switch key {
			case "setting":
				c.Decode(&x.Setting)
			case "baseline":
				c.Decode(&x.Baseline)
			case "values":
				members(c, x.Values, wanted)
			case "versus":
				members(c, x.Versus, wanted)
			default:
				c.Skip()
			}
		})
		s.Settings = append(s.Settings, x)
	})
}

// members reads those of an object that are wanted.
func members[T any](c *jsonskip.Cursor, to map[string]T, wanted map[string]bool) {
	c.Object(func(key string) {
		if !wanted[key] {
			c.Skip()
			return
		}
		var v T
		c.Decode(&v)
		to[key] = v
	})
}

// readFile reads a file of a run that is small, if it is dyno's.
func readFile(path string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > mostRead {
		return nil, fmt.Errorf("%s has %d bytes, more than any that dyno writes", filepath.Base(path), info.Size())
	}
	var b bytes.Buffer
	b.Grow(int(info.Size()) + bytes.MinRead)
	_, err = b.ReadFrom(io.LimitReader(f, mostRead))
	return b.Bytes(), err
}

func readJSON(path string, v any) error {
	data, err := readFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	return nil
}
