package promises

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/findings/receipts"
	"github.com/dynolab/dyno/internal/receipt"
	"github.com/dynolab/dyno/internal/report/layout"
)

// checked has an outcome of each kind.
func checked() *Checked {
	nan := receipt.Number(math.NaN())
	setting, today := answer.SettingNamed("GOGC=200"), answer.SettingNamed("GOGC=100")
	at := func(value, lo, hi receipt.Number) receipt.Interval {
		return receipt.Interval{Value: value, Lo: lo, Hi: hi}
	}
	moved := &receipt.Change{Rate: 1.3, Alloc: 1.3, Live: nan, Each: nan}
	outcomes := []receipt.Outcome{
		{Metric: "gc-cycles/req", Judged: at(0.00302, 0.0028, 0.0032), Seen: 0.003, Word: receipt.Held, Level: 0.9, Corrected: true, Change: moved},
		{Metric: "rss-peak-B", Judged: at(1e8, 0.9e8, 1.1e8), Seen: 1.3e8, Word: receipt.Missed, Level: 0.9},
		{Metric: "cpu-sec/req", Judged: at(1e-3, 0.9e-3, 1.1e-3), Seen: 1.2e-3, Word: receipt.Untold, Reason: receipt.LoadChanged, Change: moved},
		{Metric: "p99-sec", Judged: at(1e-3, 0.9e-3, 1.1e-3), Seen: 1.2e-3, Word: receipt.Untold, Reason: receipt.LoadChanged},
		{Metric: "cpu-sec/req", Against: &today, Judged: at(0.9, 0.88, 0.92), Seen: nan, Word: receipt.Untold, Reason: receipt.NoBaseline},
		{Metric: receipt.CapacityMetric, Judged: at(500, 500, nan), Seen: 400, Word: receipt.Held, Level: 0.95, Doubted: true},
	}
	for i := range outcomes {
		outcomes[i].Setting = setting
	}
	k := &receipts.Kept{Path: "dyno-runs/shop/receipt.json"}
	k.From, k.Name, k.Made, k.ID = "tune", "shop", time.Date(2026, 11, 20, 9, 0, 0, 0, time.Local), "1"
	k.Promises = make([]receipt.Promise, len(outcomes))
	check := receipt.Check{Receipt: "1", From: "tune", AfterID: "a", Outcomes: outcomes}
	k.Checks = []receipt.Check{check}
	return &Checked{
		After: &receipt.After{Path: "dyno-runs/after", Assumed: "GOGC=200", Goals: 300, NotGoals: 200, Settings: make([]receipt.Measured, 1)}, Of: "below dyno-runs", Rates: RatesOf([]*receipts.Kept{k}),
		Held: []Held{{Kept: k, Check: check}},
	}
}

func TestCheck(t *testing.T) {
	c := checked()
	text := c.Text(layout.Options{Width: 100})
	for _, want := range []string{
		"dyno-runs/after: of 6 promises, 2 held, 1 did not hold, and 3 cannot be told.\n",
		"\npromised by dyno tune of shop, 20 Nov 2026 09:00 (dyno-runs/shop/receipt.json)\n",
		"\nGOGC=200\n  GCs per 1,000 requests                3.02           2.80 to 3.20       3.00  held, corrected\n",
		"  peak memory                       95.4 MiB  85.8 MiB to 104.9 MiB  124.0 MiB  did not hold\n",
		"cannot be told: the load changed\n",
		"cannot be told: other requests are sent\n",
		"CPU time per request vs GOGC=100",
		"-12.0% to -8.0%",
		"cannot be told: only one of both was measured\n",
		"above 500", "held, doubtful\n",
		"The load is another one: requests per second +30.0% and bytes allocated per second +30.0%.\n",
		"assumes that it ran with GOGC=200", "dyno does not know when it was written", "look like GOGC=300, not 200",
		"Of all promises below dyno-runs, 1 of 2, 50% [5.5, 95] held; 90% was promised; 3 could not be told:\n  2 the load changed and 1 only one of both was measured. Of those with a doubt, 1 of 1, 100% [21,\n  100].\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if told, missed := c.Told(); told != 2 || missed != 1 { // without the one that is doubtful
		t.Errorf("%d missed of %d", missed, told)
	}
	c.Held[0].Check.Outcomes[5].Word = receipt.Missed
	if _, missed := c.Told(); missed != 1 || !strings.Contains(c.First(), "1 held, 2 did not hold (1 of them doubtful), and 3 cannot") {
		t.Errorf("%d missed: %s", missed, c.First())
	}
	c.Held[0].Late = true
	if told, missed := c.Told(); told+missed != 0 || !strings.Contains(c.Text(layout.Options{}), "it promised nothing") {
		t.Error("a late receipt counts")
	}
}

func TestList(t *testing.T) {
	unchecked := &receipts.Kept{Path: "dyno-runs/old/receipt.json"}
	unchecked.From, unchecked.Name = "predict", "old"
	l := &List{Root: "dyno-runs", Kept: []*receipts.Kept{checked().Held[0].Kept, unchecked}}
	text := l.Text(layout.Options{Width: 100})
	for _, want := range []string{"2 receipts below dyno-runs.\n", "2026-11-20 09:00  tune     shop         6       2 of 3  dyno-runs/shop/receipt.json\n", "not checked  dyno-runs/old/receipt.json\n",
		"tune  peak memory                   0 of 1     0%    0 to 79%       90%         0\n", "tune  CPU time per request, change  0 of 0 "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for range 60 {
		l.Kept = append(l.Kept, unchecked)
	}
	if text = l.Text(layout.Options{Width: 100}); strings.Count(text, "\n") > 45 || !strings.Contains(text, "older receipts are not shown") {
		t.Errorf("no screen:\n%s", text)
	}
	if text = l.Text(layout.Options{Full: true}); strings.Count(text, "old/receipt.json") != 61 {
		t.Error("not all are shown")
	}
}

func TestJSON(t *testing.T) {
	c := checked()
	c.Left = []error{errors.New("read x: why")}
	l := &List{Kept: []*receipts.Kept{c.Held[0].Kept}}
	each := `"each":[{"from":"tune","metric":"cpu-sec/req","held":0,"missed":0,"untold":1,"reasons":{"load-changed":1},"corrected":0,"promised-frac":null,`
	for _, x := range []struct {
		document any
		want     []string
	}{
		{c.JSON(answer.Head{Dyno: "v1"}), []string{`"outcome":"untold","reason":"no-baseline"`, `"unread":["readx:why"]`, each, `"metric":"cpu-sec/req","change":true,`}},
		{l.JSON(answer.Head{Dyno: "v1"}), []string{`"promises":6,"checks":1,` + each, `"unread":[]`, `"all":{"held":1,"missed":1,"untold":3,`, `"doubted":{"held":1,"missed":0,`}},
	} {
		var b bytes.Buffer
		if err := answer.Write(&b, x.document); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(b.String()), "")
		if !strings.HasPrefix(text, `{"kind":"receipt`) || strings.Contains(text, "NaN") {
			t.Error(text)
		}
		for _, want := range x.want {
			if !strings.Contains(text, want) {
				t.Errorf("no %s in %s", want, text)
			}
		}
	}
}

// What one run promised counts once: in a copy of its directory, and in another receipt of the run.
func TestRatesOf(t *testing.T) {
	of := func(path, id string) *receipts.Kept {
		k := *checked().Held[0].Kept
		k.Path, k.ID, k.Run = path, id, "."
		return &k
	}
	r := RatesOf([]*receipts.Kept{of("copy/receipt.json", "1"), of("shop/receipt.json", "1"), of("copy/receipt-2.json", "2")})
	if r.All.Told != 2 || r.All.Untold != 3 || r.Doubted.Told != 1 {
		t.Errorf("%+v", r)
	}
	if r = RatesOf([]*receipts.Kept{of("shop/receipt.json", "1"), of("cart/receipt.json", "2")}); r.All.Told != 4 {
		t.Errorf("of two runs: %+v", r)
	}
}

// A figure of nothing, and one of next to nothing, are in the unit of what came.
func TestFigure(t *testing.T) {
	for _, c := range []struct {
		metric         string
		promised, seen receipt.Number
		want           string
	}{
		{"cpu-sec/req", 0, 106387e-9, "0 µs 106 µs"},
		{"rss-peak-B", 0.5, 11993088, "0.000 MiB 11.438 MiB"},
		{"rss-peak-B", 2e9, 1e6, "1.86 GiB 0.00 GiB"},
		{"gc-cycles/req", 0.003, receipt.Number(math.NaN()), "3.00 ?"},
	} {
		_, print := figure(&receipt.Outcome{Metric: c.metric, Judged: receipt.Interval{Value: c.promised}, Seen: c.seen})
		if got := print(c.promised) + " " + print(c.seen); got != c.want {
			t.Errorf("%s: %s, want %s", c.metric, got, c.want)
		}
	}
}

// A log without its number of requests cannot tell figures of a request, and the reader is told how to tell it.
func TestUncounted(t *testing.T) {
	c := checked()
	c.After.Settings[0].Values = map[string]receipt.Value{"gc-cycles/min": {Value: 60}}
	if text := c.Text(layout.Options{}); !strings.Contains(text, "consider: --requests") {
		t.Errorf("no word of --requests in\n%s", text)
	}
	c.After.Name = "shop" // a run
	if text := c.Text(layout.Options{}); strings.Contains(text, "--requests") {
		t.Errorf("of a run:\n%s", text)
	}
}

// Without receipts the list says how to keep one. A place that ends in a full stop is named in full.
func TestListOfNone(t *testing.T) {
	if text := (&List{Root: "dyno-runs"}).Text(layout.Options{}); text != "0 receipts below dyno-runs.\n\nTo keep one of a run: dyno predict DIR --save\n" {
		t.Errorf("%q", text)
	}
	if text := (&List{Root: "."}).Text(layout.Options{}); !strings.HasSuffix(strings.SplitN(text, "\n", 2)[0], "report/promises.") {
		t.Errorf("%q", text)
	}
}
