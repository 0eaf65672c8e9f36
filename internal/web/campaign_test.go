package web

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/store"
)

// A tuning has a row with its answer, a page, and its runs below it.
func TestCampaign(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "shop-tune")
	r := &store.Record{Question: "tune", Dyno: "test", Started: began, Plan: &dyno.Experiment{Name: "shop", Subject: dyno.Subject{Package: "/src/shop", Dir: "/"}}}
	if err := r.Create(path); err != nil {
		t.Fatal(err)
	}
	s := site(t, root)
	want(t, get(t, s, "/"), http.StatusOK, `href="/runs/shop-tune/"`, "dyno tune", "interrupted", "0 steps")
	want(t, get(t, s, "/runs/shop-tune/"), http.StatusNotFound, "There is no answer yet.")

	made{name: "shop today"}.run(t, filepath.Join(path, "1-today"), true)
	want(t, get(t, s, "/"), http.StatusOK, "under way", `href="/runs/shop-tune/1-today/"`)

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
	want(t, get(t, s, "/runs/shop-tune/"), http.StatusOK, "<h1>shop</h1>")
	want(t, get(t, s, "/runs/shop-tune/files/"), http.StatusOK, "campaign.json")
	want(t, get(t, s, "/runs/shop-tune/1-today/files/"), http.StatusOK, "results.jsonl")
	want(t, get(t, s, "/?q=GOGC&name=shop"), http.StatusOK, "shop-tune")

	// Its directory alone is a list of it and its runs.
	want(t, get(t, site(t, path), "/"), http.StatusOK, `href="/runs/shop-tune/"`, `href="/runs/1-today/"`)

	if err := os.WriteFile(filepath.Join(path, store.RecordFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, get(t, s, "/"), http.StatusOK, "broken", `href="/runs/shop-tune/1-today/"`)
}
