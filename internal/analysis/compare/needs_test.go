package compare

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dynolab/dyno"
)

// withNeed adds to planted what a database of the service did.
func withNeed(factors, of map[string]float64, base map[string]float64) []*dyno.Result {
	rng := rand.New(rand.NewPCG(3, 4))
	rs := planted(factors)
	for _, r := range rs {
		for metric, v := range base {
			noise := 0.002
			if metric == "db-statements/req" {
				noise = 0
			}
			v *= 1 + noise*rng.NormFloat64()
			if f, ok := of[metric]; ok && r.Trial.Setting.String() == "rev=new" {
				v *= f
			}
			r.Values = append(r.Values, dyno.Value{Metric: metric, Value: v})
		}
		r.Values.Sort()
	}
	return rs
}

func TestWhyNeeds(t *testing.T) {
	base := map[string]float64{"db-cpu-sec/req": 2e-4, "db-statements/req": 1, "db-server-sec/req": 1e-4, "db-new-connections/req": 0.01}
	one := []Place{{Func: "select 1", Change: 10}}
	slower := map[string]float64{"p50-sec": 5, "mean-sec": 5, "req/s": 0.2}
	for _, c := range []struct {
		name   string
		need   map[string]float64
		metric string
		places []Place
		want   string
	}{
		{"eleven statements", map[string]float64{"db-statements/req": 11, "db-cpu-sec/req": 5, "db-server-sec/req": 8}, "p50-sec", one, "statements db-statements/req, server time db-server-sec/req"},
		{"of the database's own CPU time", map[string]float64{"db-statements/req": 11, "db-cpu-sec/req": 5}, "db-cpu-sec/req", one, "statements db-statements/req"},
		{"a statement that takes longer", map[string]float64{"db-cpu-sec/req": 20, "db-server-sec/req": 40}, "p50-sec", one, "server time db-server-sec/req"},
		{"one that waits longer is the effect", map[string]float64{"db-server-sec/req": 40}, "p50-sec", one, ""},
		{"connections that are not kept", map[string]float64{"db-new-connections/req": 70, "db-cpu-sec/req": 20}, "db-cpu-sec/req", nil, "new connections db-new-connections/req"},
		{"what cannot be named is no cause", map[string]float64{"db-statements/req": 11, "db-cpu-sec/req": 5}, "p50-sec", nil, ""},
		{"a few more statements take too little", map[string]float64{"db-statements/req": 1.05}, "p50-sec", one, ""},
	} {
		tb := Tabulate(withNeed(slower, c.need, base), Options{Places: func(dyno.Setting, string) []Place { return c.places }})
		got := ""
		for _, w := range tb.Settings[1].Why {
			for _, x := range w.Causes {
				if w.Metric == c.metric && (x.Class == ClassStatements || x.Class == ClassServer || x.Class == ClassConnecting) {
					got += fmt.Sprintf(", %s %s", x.Class, x.Metric)
				}
			}
		}
		if got = got[min(2, len(got)):]; got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Statements come before the CPU time that the service takes for them, though that may explain more.
func TestAskedFirst(t *testing.T) {
	base := map[string]float64{"db-statements/req": 1}
	rs := withNeed(map[string]float64{"p50-sec": 1.1, "mean-sec": 1.1, "cpu-sec/req": 20}, map[string]float64{"db-statements/req": 1.5}, base)
	tb := Tabulate(rs, Options{Places: func(dyno.Setting, string) []Place { return []Place{{Func: "select 1", Change: 2}} }})
	for _, w := range tb.Settings[1].Why {
		if w.Metric == "p50-sec" && (len(w.Causes) < 2 || w.Causes[0].Class != ClassStatements || w.Causes[1].Class != ClassCPU) {
			t.Errorf("causes %+v", w.Causes)
		}
	}
	if len(tb.Settings[1].Why) == 0 {
		t.Error("no cause")
	}
}

// A need that does hardly anything has no primary row; that of a busy one is primary.
func TestNeedsPrimary(t *testing.T) {
	for share, want := range map[float64]bool{0.001: false, 0.5: true} {
		tb := Tabulate(withNeed(nil, nil, map[string]float64{"db-cpu-sec/req": share * 1e-3}), Options{})
		for _, row := range tb.Rows {
			if row.Name == "db-cpu-sec/req" && row.Primary != want {
				t.Errorf("with %v of the CPU time: primary %t", share, row.Primary)
			}
		}
	}
}
