package compare

import (
	"strings"
	"testing"
)

// Each server is once in the tree, below the first that uses it.
func TestTree(t *testing.T) {
	var lines []string
	for _, n := range Tree([]Use{{"", "users"}, {"", "db"}, {"users", "db"}, {"users", "cache"}, {"cache", "users"}}) {
		lines = append(lines, n.Stem+n.Name)
	}
	if got, want := strings.Join(lines, "\n"), "\n├─ db\n└─ users\n   └─ cache"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
