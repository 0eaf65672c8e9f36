package progress

import (
	"strings"
	"testing"
)

// What a subject, a plan or a file says does nothing to a terminal, however it is cut into writes.
func TestTame(t *testing.T) {
	const ours, theirs = "\r\x1b[Ktrial 1\n\x1b[31mworse\x1b[0m\n", "\x1b]0;title\x07\x1b[2J\x1b[31mred\u009b1m\x9b2m\rover\u202e\x7f\x00"
	for _, x := range []struct {
		text     string
		terminal bool
		want     string
	}{
		{"p99 8.2 ms ± 3 % · ok\n\ttab\r\n", false, "p99 8.2 ms ± 3 % · ok\n\ttab\r\n"},
		{ours, true, ours},
		{ours, false, "··[Ktrial 1\n·[31mworse·[0m\n"},
		{theirs + "\n", false, "·]0;title··[2J·[31mred·1m·2m·over···\n"},
		{theirs + "\n", true, "·]0;title··[2J\x1b[31mred·1m·2m·over···\n"},
		{"\xff\xc3x€\n", false, "\xff\xc3x€\n"},
	} {
		for size := 1; size <= len(x.text); size++ {
			var b strings.Builder
			w := Tame(&b)
			if x.terminal {
				w.own = own
			}
			for rest := x.text; rest != ""; {
				n := min(size, len(rest))
				if wrote, err := w.Write([]byte(rest[:n])); wrote != n || err != nil {
					t.Fatal(wrote, err)
				}
				rest = rest[n:]
			}
			if b.String() != x.want {
				t.Errorf("%q in writes of %d: %q, want %q", x.text, size, b.String(), x.want)
			}
		}
	}
}
