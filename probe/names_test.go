package probe

import (
	"fmt"
	"testing"
	"time"
)

// A service that makes up a new name for each page takes no more memory for that.
func TestNamesWithoutEnd(t *testing.T) {
	var p published
	for i := range 3 * mostCourses {
		p.sample(time.Duration(i), []number{{name: "always", value: 1, use: use{series: "always"}}, {name: fmt.Sprint(i), value: 1, use: use{series: fmt.Sprint(i)}}})
	}
	r := p.reading(true)
	if len(r.Series) != mostCourses || len(r.Series[0].At) != 3*mostCourses {
		t.Errorf("%d series, %d points of the first", len(r.Series), len(r.Series[0].At))
	}
}
