package trend

import (
	"reflect"
	"testing"
)

func TestCourses(t *testing.T) {
	var runs []Run
	for i := range 24 {
		r := Run{Conditions{"machine": "a", "load": "x"}, 10 + float64(i%3)}
		if i >= 12 {
			r.Value += 10
		}
		if i%2 == 1 {
			r.Conditions = Conditions{"machine": "b", "load": "x"}
		}
		runs = append(runs, r)
	}
	apart := Courses(runs, false)
	if len(apart) != 2 || apart[1].Runs[0] != 1 || len(apart[0].Runs) != 12 {
		t.Fatalf("%+v", apart)
	}
	for _, c := range apart {
		if len(c.Changes) != 1 || c.Changes[0].At != 6 {
			t.Errorf("changes %+v", c.Changes)
		}
	}
	if mixed := Courses(runs, true); len(mixed) != 1 || len(mixed[0].Changes) != 1 || mixed[0].Changes[0].At != 12 {
		t.Errorf("%+v", mixed)
	}
	if names := apart[0].Conditions.Differing(apart[1].Conditions); !reflect.DeepEqual(names, []string{"machine"}) {
		t.Error(names)
	}
	if Courses(nil, true) != nil {
		t.Error("a course without a run")
	}
}
