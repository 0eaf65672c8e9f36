package scenario

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/texts"
	"github.com/dynolab/dyno/internal/safe"
)

// readData reads CSV files (RFC 4180) by table name; their first row names the
// columns. No files give nil. A mistake is a [*dyno.PlanError] with file and line.
func readData(files map[string]string) (*texts.Tables, error) {
	if len(files) == 0 {
		return nil, nil
	}
	ts := new(texts.Tables)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data, err := readFile(files[name])
		if err == nil {
			var line int
			if line, err = ts.Add(name, bytes.NewReader(data)); line > 0 {
				err = fmt.Errorf("%s:%d: %w", files[name], line, err)
			}
		}
		if err != nil {
			return nil, &dyno.PlanError{Msg: fmt.Sprintf("data %s: %v", name, err), Key: []string{"load", "data", name}}
		}
	}
	return ts, nil
}

// readFile reads a file without its byte order mark, which spreadsheets write.
func readFile(file string) ([]byte, error) {
	data, err := safe.Data.ReadFile(file)
	return bytes.TrimPrefix(data, []byte("\ufeff")), err
}
