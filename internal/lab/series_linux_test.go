package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

// A full disk ends the series, and not the trial.
func TestSeriesDiskFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Symlink("/dev/full", filepath.Join(dir, "series.csv")); err != nil {
			t.Fatal(err)
		}
		r := sampled(t, dir, []sampler{{"proc", []string{"rss-B"}}}, nil)
		if r.Err != "" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "no space left on device (consider: ") {
			t.Errorf("error %q, warnings %q", r.Err, r.Warnings)
		}
	})
}
