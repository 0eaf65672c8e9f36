package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
)

// A summary is what an entry needs of summary.json.
type summary struct {
	Planned  int
	Trials   int
	Blocks   int
	Failed   []struct{}
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
	s := new(summary)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("read summary.json: %w", err)
	}
	unwanted := map[string]bool{}
	for _, m := range s.Metrics {
		unwanted[m.Name] = !m.Primary && m.Name != metric
	}
	for _, x := range s.Settings {
		maps.DeleteFunc(x.Values, func(name string, _ value) bool { return unwanted[name] })
		maps.DeleteFunc(x.Versus, func(name string, _ verdict) bool { return unwanted[name] })
	}
	s.tame()
	return s, nil
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
