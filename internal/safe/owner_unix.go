//go:build unix

package safe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Ours reports whether others had a hand in a run directory, as far as its files tell: they are
// the user's, and others may not write to them.
func Ours(path string) error {
	for _, name := range []string{".", "run.json", "results.jsonl"} {
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(path, name), &st); err != nil {
			return fmt.Errorf("find the owner of %s: %w", name, err)
		}
		switch {
		case int(st.Uid) != os.Geteuid():
			return errors.New("its files are another user's")
		case st.Mode&0o002 != 0:
			return errors.New("other users may write to its files")
		}
	}
	return nil
}
