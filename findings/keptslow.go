package findings

import (
	"encoding/json"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/dynolab/dyno/internal/analysis/slow"
	"github.com/dynolab/dyno/internal/store"
)

// slowFile is what a trial's trace says of slow requests: to read it again takes seconds.
const slowFile = "slow.json"

// A keptSlow is one, of the usual quantile and without names of functions that serve.
type keptSlow struct {
	Version int
	Trial   *slow.Trial // nil if the trace has too few requests
}

// readSlow reads what was kept of the trial of a trace; fs.ErrNotExist if it has to be read.
func readSlow(trace string) (*slow.Trial, error) {
	k, err := reading(filepath.Join(filepath.Dir(trace), slowFile), func(in io.Reader) (k keptSlow, err error) {
		err = json.NewDecoder(in).Decode(&k)
		return k, err
	})
	if err == nil && (k.Version != slow.Version || k.Trial != nil && k.Trial.Quantile != slow.P99) {
		err = fs.ErrNotExist
	}
	return k.Trial, err
}

// keepSlow keeps it beside the trace. A file that dyno could not write is no loss.
func keepSlow(trace string, t *slow.Trial) {
	store.Replace(filepath.Join(filepath.Dir(trace), slowFile), func(w io.Writer) error {
		return json.NewEncoder(w).Encode(keptSlow{slow.Version, t})
	})
}
