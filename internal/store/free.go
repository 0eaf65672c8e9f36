package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Free is why nothing can be created at path, which must be missing or empty, or nil. An empty path is free. resume is what resumes a run that is
// there, such as "--resume"; "" if nothing does.
func Free(path, resume string) error {
	if path == "" {
		return nil
	}
	switch question := questionOf(path); question {
	case "":
	case neverResumed:
		return fmt.Errorf("directory %s has a run of dyno %s already (consider: another --out)", path, question)
	default:
		return fmt.Errorf("directory %s has a campaign already (consider: dyno %s --resume %[1]s, or another --out)", path, question)
	}
	if _, err := os.Stat(filepath.Join(path, runFile)); err == nil {
		cure := ""
		if resume != "" {
			cure = resume + " " + path + ", or "
		}
		return fmt.Errorf("run directory %s: %w (consider: %sanother --out)", path, ErrExists, cure)
	}
	if entries, err := os.ReadDir(path); err == nil && len(entries) > 0 {
		return fmt.Errorf("directory %s is not empty (consider: another --out)", path)
	}
	return nil
}

// Begun reports whether there is a run at path. It removes what a Create that was cut off has left there.
func Begun(path string) (bool, error) {
	_, err := os.Stat(filepath.Join(path, runFile))
	if !errors.Is(err, fs.ErrNotExist) {
		return err == nil, err
	}
	if info, err := os.Stat(filepath.Join(path, resultsFile)); err == nil && info.Size() > 0 {
		return false, fmt.Errorf("%s has results, but no %s", path, runFile)
	}
	return false, os.RemoveAll(path)
}
