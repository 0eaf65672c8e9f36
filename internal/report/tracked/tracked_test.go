package tracked

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/track"
)

var update = flag.Bool("update", false, "write the golden files")

// report is of a service in which CPU time rose with the 20th of 30 commits.
func report(changed bool) *Report {
	l := &track.Log{Start: track.Start{Name: "shop", Anchor: "c00aaaaaaaaaaaaaaaaa"}}
	var history []track.Commit
	for i := range 30 {
		c := track.Commit{ID: fmt.Sprintf("c%02daaaaaaaaaaaaaaaaa", i), Date: fmt.Sprintf("2026-11-%02d", i+1), Title: fmt.Sprintf("commit %d", i)}
		history = append(history, c)
		if i == 0 {
			continue
		}
		level := 0.0
		if changed && i >= 20 {
			level = 0.05
		}
		logs := map[string]track.Ratios{}
		for k, metric := range []string{"cpu-sec/req", "p99-sec"} {
			var r track.Ratios
			for b := range 8 {
				x := float64((b*7+i*3)%11-5) / 1000 * float64(1+4*k)
				r.Anchor, r.Before = append(r.Anchor, level+x), append(r.Before, x)
			}
			level = 0
			logs[metric] = r
		}
		l.Points = append(l.Points, track.Point{Commit: c.ID, Anchor: l.Start.Anchor, Before: history[i-1].ID, Blocks: 8, Logs: logs})
	}
	r := &Report{Log: l, Place: "refs/dyno/track of /work/shop", Dyno: "v1", Made: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)}
	if changed {
		a := track.Alarm{Metric: "cpu-sec/req", Shape: track.Step, From: history[19].ID, To: history[20].ID, Commit: history[20].ID, Title: "Cache <all> of it", Function: "shop.Price (price.go:12)",
			Shown: true, Ratio: 1.051, Lo: 1.046, Hi: 1.056, P: 0.0003, Blocks: 16, Alpha: track.Alpha, Worse: true, At: r.Made}
		l.Alarms = []track.Alarm{a, {Metric: "p99-sec", Shape: track.Step, From: history[3].ID, To: history[4].ID, Alpha: track.Alpha}}
		r.New = []track.Alarm{a}
	}
	for _, m := range []string{"cpu-sec/req", "p99-sec"} {
		r.Lines = append(r.Lines, l.Line(m, history))
	}
	return r
}

// The screen, the comment and the badge say what changed, by how much and with which commit; without a change they say that none is shown.
func TestForms(t *testing.T) {
	changed, same := report(true), report(false)
	changed.Waiting = 1
	var badge, quiet strings.Builder
	if err := changed.Badge(&badge); err != nil {
		t.Fatal(err)
	}
	if err := same.Badge(&quiet); err != nil {
		t.Fatal(err)
	}
	text := strings.Join([]string{changed.Text(layout.Options{Width: 100}), changed.Markdown(), badge.String(), same.Text(layout.Options{Width: 100}), quiet.String()}, "\n---\n\n")
	golden := filepath.Join("testdata", "forms.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || text != string(want) {
		t.Errorf("%v; got (-update writes it)\n%s", err, text)
	}
	if same.Markdown() != "" {
		t.Error("a comment about no change")
	}
}

// The page has a picture of each metric, and nothing of a commit's title is markup.
func TestPage(t *testing.T) {
	var b strings.Builder
	if err := report(true).HTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if n := strings.Count(page, `class="chart trend"`); n != 2 || strings.Contains(page, "<all>") || !strings.Contains(page, "CPU time per request") {
		t.Errorf("%d pictures in\n%.2000s", n, page)
	}
}

func TestDocument(t *testing.T) {
	text, err := json.Marshal(report(true).Document())
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Kind    string
		Metrics []struct {
			Metric  string
			Commits []struct{ Ratio, Lo, Hi float64 }
		}
		Changes []struct {
			Commit string
			New    bool
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if d.Kind != "track" || len(d.Metrics) != 2 || len(d.Metrics[0].Commits) != 30 || len(d.Changes) != 1 || !d.Changes[0].New {
		t.Errorf("%s", text)
	}
	if last := d.Metrics[0].Commits[29]; last.Ratio < 1.04 || last.Ratio > 1.06 || last.Lo >= last.Ratio || last.Hi <= last.Ratio {
		t.Errorf("%+v", last)
	}
	if text, err = json.Marshal((&Report{Log: &track.Log{}}).Document()); err != nil || !strings.Contains(string(text), `"changes":[]`) {
		t.Errorf("%s %v", text, err)
	}
}
