package main

import (
	"math"
	"strings"
	"testing"

	"github.com/dynolab/dyno/eval/internal/program"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name  string
		parse func([]byte) (figures, error)
		out   string
		want  figures // nil: an error
	}{
		{"dyno", parseDyno, `{"schema":1,"settings":[{"setting":"","values":{"p50-sec":{"center":0.005,"lo":null},
			"p99.9-sec":{"center":0.25},"lateness-p99-sec":{"center":0.0001},"unsent":{"center":3},"p90-sec":{"center":null}}}]}`,
			figures{"p50": 5, "p99.9": 250, "lateness-p99": 0.1, "unsent": 3}},
		{"dyno without a trial", parseDyno, `{"settings":[]}`, nil},
		{"dyno without latency", parseDyno, `{"settings":[{"values":{"failures":{"center":1}}}]}`, nil},
		{"oha", parseOha, `{"summary":{"successRate":1},"latencyPercentiles":{"p50":0.0051,"p99":0.0054,"p99.9":null},"firstBytePercentiles":{"p50":1}}`,
			figures{"p50": 5.1, "p99": 5.4}},
		{"oha without a success", parseOha, `{"latencyPercentiles":{"p50":null}}`, nil},
		{"vegeta", parseVegeta, `{"latencies":{"total":9,"mean":5200000,"50th":5200000,"90th":5300000,"99th":9600000,"max":42960000},"requests":5000}`,
			figures{"p50": 5.2, "p90": 5.3, "p99": 9.6}},
		{"no JSON", parseVegeta, `panic: no`, nil},
	} {
		got, err := test.parse([]byte(test.out))
		if (err != nil) != (test.want == nil) || len(got) != len(test.want) {
			t.Errorf("%s: got %v, %v; want %v", test.name, got, err, test.want)
			continue
		}
		for k, want := range test.want {
			if math.Abs(got.get(k)-want) > 1e-9 {
				t.Errorf("%s: %s is %v, want %v", test.name, k, got.get(k), want)
			}
		}
	}
}

func TestParseHgrm(t *testing.T) {
	const table = `       Value     Percentile TotalCount 1/(1-Percentile)

       0.041     0.000000000000          1           1.00
       0.120     0.500000000000       2000           2.00
       0.310     0.750000000000       3000           4.00
     480.255     0.990000000000       3960         100.00
     499.000     1.000000000000       4000            inf
#[Mean    =       62.500, StdDeviation   =      125.000]
`
	for q, want := range map[float64]float64{0.7: 0.310, 0.99: 480.255, 1: 499} {
		if got, err := parseHgrm([]byte(table), q); got != want || err != nil {
			t.Errorf("at %g: got %g, %v; want %g", q, got, err, want)
		}
	}
	if _, err := parseHgrm([]byte("no table\n"), 0.7); err == nil {
		t.Error("no error without a table")
	}
}

func TestParsePeak(t *testing.T) {
	if got := parsePeak([]byte("Name:\twrk\nVmPeak:\t  9000 kB\nVmHWM:\t    5120 kB\nVmRSS:\t    5000 kB\n")); got != 5120<<10 {
		t.Errorf("got %d bytes, want 5 MiB", got)
	}
	if got := parsePeak([]byte("Name:\twrk\nState:\tZ (zombie)\n")); got != 0 {
		t.Errorf("got %d bytes of a process that ended", got)
	}
}

// A figure that is missing must not be a goal that is met.
func TestMissing(t *testing.T) {
	rs := runs{"dyno": {nil, {"cost": 3}, {"cost": 1}, {"cost": 2}}, "wrk": {{"cost": 1}, {"cost": 2}, nil, {"cost": 1}}}
	if got := median(rs.ratios("dyno", "wrk", "cost")); got != 1.75 {
		t.Errorf("median of the rounds' ratios is %g, want that of 1.5 and 2", got)
	}
	if got := median(rs.ratios("dyno", "hey", "cost")); !math.IsNaN(got) {
		t.Errorf("ratio to what is not there is %g", got)
	}
	var b strings.Builder
	g := program.Goals{W: &b}
	v := rs.median("dyno", "p70")
	judge(&g, "p70 under 5 ms", "%.2f ms", v, !(v >= 5))
	if g.Met != 0 || g.Of != 1 || !strings.HasSuffix(b.String(), "no figure\n") {
		t.Errorf("missing figure: %q, %s", b.String(), &g)
	}
}
