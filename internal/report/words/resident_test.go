package words

import (
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// A file that a service maps is not called its program.
func TestResidentNamesMappedFiles(t *testing.T) {
	const mib = 1 << 20
	e := &dyno.Snapshot{RSS: 230 * mib, File: 208 * mib, Files: 200 * mib, Largest: "/srv/da\x1bta.db", Live: 4 * mib, Idle: 8 * mib}
	text := Resident("", e, 10*mib)
	for _, want := range []string{"2.00 the program's file, 50.00 mapped files", "The largest of these is /srv/da·ta.db."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	e.Files = 0
	if text := Resident("", e, 10*mib); strings.Contains(text, "mapped") || !strings.Contains(text, "52.00 the program's file") {
		t.Error(text)
	}
}
