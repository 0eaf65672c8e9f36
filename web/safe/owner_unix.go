//go:build unix

package safe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// slowest is how long a run may take to build its subjects, before it writes run.json.
const slowest = time.Hour

// Ours reports why this user's dyno did not make a run directory here, as far as its
// files tell: they are the user's, others may not write to them, and run.json was not
// copied or unpacked after the run began.
func Ours(path string, started time.Time) error {
	for _, name := range []string{".", "run.json", "results.jsonl"} {
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(path, name), &st); err != nil {
			return fmt.Errorf("look whose %s is: %w", name, err)
		}
		switch {
		case int(st.Uid) != os.Geteuid():
			return errors.New("its files are another user's")
		case st.Mode&0o002 != 0:
			return errors.New("other users may write to its files")
		}
		if name != "run.json" {
			continue
		}
		if late := time.Unix(st.Ctim.Unix()).Sub(started); late < -time.Minute || late > slowest {
			return errors.New("its run.json is not there since the run began: it was copied, unpacked or changed")
		}
	}
	return nil
}
