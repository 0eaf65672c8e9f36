package words

import (
	"testing"

	"github.com/dynolab/dyno/internal/analysis/exectrace"
	"github.com/dynolab/dyno/internal/analysis/slow"
	"github.com/dynolab/dyno/internal/stats"
)

// What a request waited for is said as what somebody else did meanwhile, with the function of a library that it was in.
func TestSpentBehind(t *testing.T) {
	get := slow.Site{Func: "example.com/shop/cache.(*Cache).get", File: "/src/cache/cache.go", Line: 41}
	conn := slow.Site{Func: "main.query", File: "/src/main.go", Line: 7, Via: "database/sql.(*DB).conn"}
	for want, by := range map[string]slow.Culprit{
		"waiting for a lock in cache.(*Cache).get cache.go:41, while another goroutine was asleep in cache.(*Cache).get cache.go:41":                      {Part: exectrace.Sleeping, Site: get},
		"waiting for a lock in cache.(*Cache).get cache.go:41, while another request was waiting for a connection in query main.go:7 (in sql.(*DB).conn)": {Part: exectrace.Channels, Site: conn, Other: true},
		"waiting for a lock in cache.(*Cache).get cache.go:41, while http.(*persistConn).readLoop was waiting for the network":                            {Part: exectrace.Network, Site: slow.Site{Func: "net/http.(*persistConn).readLoop"}},
		"waiting for a lock in cache.(*Cache).get cache.go:41, with a P free: the kernel woke it late":                                                    {Idle: true},
		"waiting for a lock in cache.(*Cache).get cache.go:41, while other requests were running":                                                         {Part: exectrace.Running, Other: true},
	} {
		if got := SpentBehind(exectrace.Locking, get, []slow.By{{Culprit: by, Excess: 0.9}}, 1); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// The sentence of a screen says the doubt that the table shows as an interval with 0 in it.
func TestSlowWhySaysItsDoubt(t *testing.T) {
	why := func(lo float64) *slow.Why {
		return &slow.Why{Quantile: slow.P99, Excess: stats.Mean{Mean: 0.005}, Lines: []slow.Line{{Part: exectrace.Locking, Excess: stats.Mean{Mean: 0.004, Lo: lo, Hi: 0.009}}}}
	}
	const sure = "the slowest 1 % took 5.000 ms longer than typical ones: 80 % of that waiting for a lock"
	for lo, want := range map[float64]string{0.003: sure, -0.001: sure + " (not sure: the traces differ too much)"} {
		if got := SlowWhy(why(lo)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
