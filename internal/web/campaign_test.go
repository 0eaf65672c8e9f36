package web

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/store"
)

// A tuning has a row with its answer, a page, and its runs below it.
func TestCampaign(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "shop-tune[1]") // as no pattern of names
	r := &store.Record{Question: "tune", Dyno: "test", Started: began, Plan: &dyno.Experiment{Name: "shop", Subject: dyno.Subject{Package: "/src/shop", Dir: "/"}}}
	if err := r.Create(path); err != nil {
		t.Fatal(err)
	}
	s := site(t, root)
	want(t, get(t, s, "/"), http.StatusOK, `href="/runs/shop-tune%5B1%5D/"`, "dyno tune", "interrupted", "0 steps")
	want(t, get(t, s, "/runs/shop-tune%5B1%5D/"), http.StatusOK, "There is no answer yet.", "dyno tune --resume "+path, `href="/runs/shop-tune%5B1%5D/files/"`)

	point := filepath.Join(root, "shop-track") // which cannot go on
	if err := (&store.Record{Question: "track", Dyno: "test", Started: began, Plan: r.Plan}).Create(point); err != nil {
		t.Fatal(err)
	}
	if w := get(t, s, "/runs/shop-track/"); strings.Contains(w.Body.String(), "--resume") || !strings.Contains(w.Body.String(), "dyno track add") {
		t.Error(w.Body)
	}

	leave, err := r.Claim(path) // as while it builds
	if err != nil {
		t.Fatal(err)
	}
	want(t, get(t, s, "/"), http.StatusOK, "under way")
	leave()
	made{name: "shop today"}.run(t, filepath.Join(path, "1-today"), true)
	want(t, get(t, s, "/"), http.StatusOK, "under way", `href="/runs/shop-tune%5B1%5D/1-today/"`)
	want(t, get(t, s, "/runs/shop-tune%5B1%5D/"), http.StatusOK, "under way", `href="/runs/shop-tune%5B1%5D/1-today/"`)
	step, err := store.Read(filepath.Join(path, "1-today"))
	if err != nil {
		t.Fatal(err)
	}
	if w := post(s.resume, step); !strings.Contains(w.Body.String(), "dyno tune --resume "+path) {
		t.Error(w.Body)
	}

	if err := r.Add(store.Step{Name: "1-today"}); err != nil {
		t.Fatal(err)
	}
	if err := r.Conclude("shop: set <GOGC>=200.", true); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "answer.html"), []byte("<h1>shop</h1>"), 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, get(t, s, "/"), http.StatusOK, "shop: set &lt;GOGC&gt;=200.", "done", "1 step")
	want(t, get(t, s, "/runs/shop-tune%5B1%5D/"), http.StatusOK, "<h1>shop</h1>")
	want(t, get(t, s, "/runs/shop-tune%5B1%5D/files/"), http.StatusOK, "campaign.json")
	want(t, get(t, s, "/runs/shop-tune%5B1%5D/1-today/files/"), http.StatusOK, "results.jsonl")
	want(t, get(t, s, "/?q=GOGC&name=shop"), http.StatusOK, "shop-tune")

	// It is no run that others of its name are compared with.
	made{name: "shop"}.run(t, filepath.Join(root, "shop"), false)
	dir, err := store.Read(filepath.Join(root, "shop"))
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range s.others(foundDir{ID: "shop", path: dir.Path}, dir, "") {
		if strings.Contains(link.Name, "shop-tune") {
			t.Errorf("the run is offered to be compared %s", link.Name)
		}
	}
	if text := get(t, s, "/compare").Body.String(); strings.Contains(text, `value="shop-tune[1]"`) || !strings.Contains(text, `value="shop"`) {
		t.Errorf("what can be compared:\n%s", text)
	}

	// Its directory alone is a list of it and its runs.
	want(t, get(t, site(t, path), "/"), http.StatusOK, `href="/runs/shop-tune%5B1%5D/"`, `href="/runs/1-today/"`)

	if err := os.WriteFile(filepath.Join(path, store.RecordFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, get(t, s, "/"), http.StatusOK, "broken", `href="/runs/shop-tune%5B1%5D/1-today/"`)
}

// The state of a search is what its record says: its run always has all the trials that it has planned.
func TestSearchState(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "shop-capacity")
	made{name: "shop"}.run(t, path, false)
	r := &store.Record{Question: "capacity", Dyno: "test", Started: began, Plan: &dyno.Experiment{Name: "shop", Subject: dyno.Subject{Package: "/src/shop", Dir: "/"}}}
	if err := r.Create(path); err != nil {
		t.Fatal(err)
	}
	state := func() string { return readEntry(foundDir{path: path}).State }
	if got := state(); got != interrupted {
		t.Errorf("before its end: %s", got)
	}
	if err := r.Conclude("shop: 100/s", true); err != nil {
		t.Fatal(err)
	}
	if got := state(); got != done {
		t.Errorf("at its end: %s", got)
	}
}

// A campaign of another schema is not shown as if it were of this one.
func TestCampaignSchema(t *testing.T) {
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, store.RecordFile), []byte(`{"schema": 9, "dyno": "v9", "question": "tune", "plan": {"name": "x"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if e := readEntry(foundDir{path: path, campaign: true}); e.State != broken || !strings.Contains(e.Err, "has schema 9") {
		t.Errorf("%s: %s", e.State, e.Err)
	}
}
