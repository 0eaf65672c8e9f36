package web

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dynolab/dyno"
)

// A list has all runs, at whatever depth up to three, the newest first.
func TestList(t *testing.T) {
	root := t.TempDir()
	made{}.run(t, filepath.Join(root, "a"), false)
	made{name: "other", started: began.AddDate(0, 0, 1), rev: "v1.2", subject: "/src/billing"}.run(t, filepath.Join(root, "demo x", "1-gogc"), false)
	made{started: began.AddDate(0, 0, 2), settings: []dyno.Setting{nil}}.run(t, filepath.Join(root, "one", "two", "three"), false)
	made{}.run(t, filepath.Join(root, "one", "two", "too", "deep"), false)
	made{}.run(t, filepath.Join(root, ".hidden"), false)
	if err := os.Symlink(filepath.Join(root, "a"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	s := site(t, root)
	w := get(t, s, "/")
	want(t, w, 200, "3 runs in", `href="/runs/demo%20x/1-gogc/"`, "v1.2", "6/6", "% worse", "2026-11-01", "(as is)", "/trend?metric=p99-sec")
	if !regexp.MustCompile(`&#43;(2[89]|3[0-2])\.[0-9]% worse`).MatchString(w.Body.String()) { // of 30, and some noise
		t.Error("the change of p99 is not shown")
	}
	var order []string
	for _, m := range regexp.MustCompile(`<th scope="row"><a href="/runs/([^"]*)/"`).FindAllStringSubmatch(w.Body.String(), -1) {
		order = append(order, m[1])
	}
	if got := strings.Join(order, " "); got != "one/two/three demo%20x/1-gogc a" {
		t.Errorf("listed %s", got)
	}
	for _, x := range []struct{ query, ids string }{
		{"name=other", "demo%20x/1-gogc"},
		{"subject=BILL", "demo%20x/1-gogc"},
		{"rev=v1", "demo%20x/1-gogc"},
		{"since=2026-11-02", "one/two/three demo%20x/1-gogc"},
		{"until=2026-11-02", "demo%20x/1-gogc a"},
		{"q=gogc%3D50+sessions", "a"},
		{"q=nothing-like-it", ""},
	} {
		w := get(t, s, "/?"+x.query)
		var got []string
		for _, m := range regexp.MustCompile(`<th scope="row"><a href="/runs/([^"]*)/"`).FindAllStringSubmatch(w.Body.String(), -1) {
			got = append(got, m[1])
		}
		if w.Code != 200 || strings.Join(got, " ") != x.ids {
			t.Errorf("%s: status %d, %q", x.query, w.Code, got)
		}
	}
}

// What state a run is in is told by its files and its lock.
func TestStates(t *testing.T) {
	root := t.TempDir()
	made{}.run(t, filepath.Join(root, "whole"), false)
	made{trials: 5, silent: true}.run(t, filepath.Join(root, "killed"), false)
	made{trials: 5}.run(t, filepath.Join(root, "stopped"), false)
	made{trials: 3, silent: true}.run(t, filepath.Join(root, "running"), true)
	made{failed: "subject died"}.run(t, filepath.Join(root, "failed"), false)
	s := site(t, root)
	got := map[string]string{}
	all, _, err := s.all()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		got[e.ID] = e.State
		if e.ID == "killed" && (e.Blocks != 3 || e.Trials != 5) {
			t.Errorf("killed: %d blocks, %d trials", e.Blocks, e.Trials)
		}
	}
	for id, state := range map[string]string{"whole": done, "killed": interrupted, "stopped": interrupted, "running": underWay, "failed": done} {
		if got[id] != state {
			t.Errorf("%s is %q, want %q", id, got[id], state)
		}
	}
	want(t, get(t, s, "/"), 200, `class="state underway"`, "3/6")
}

// A run that decides itself how many blocks it takes is done when it has, however many its plan
// would have let it take, and says why it has no more.
func TestEndedRuns(t *testing.T) {
	root := t.TempDir()
	made{trials: 14, open: true, ended: dyno.EndedDecided}.run(t, filepath.Join(root, "decided"), false)
	made{trials: 6, open: true, ended: dyno.EndedTime}.run(t, filepath.Join(root, "late"), false)
	made{trials: 8, ended: dyno.EndedTime}.run(t, filepath.Join(root, "within"), false)
	made{trials: 10, open: true}.run(t, filepath.Join(root, "stopped"), false)
	made{trials: 10, open: true, silent: true}.run(t, filepath.Join(root, "running"), true)
	made{open: true}.run(t, filepath.Join(root, "all"), false)
	s := site(t, root)
	list := get(t, s, "/")
	rows := regexp.MustCompile(`(?s)<tr.*?</tr>`).FindAllString(list.Body.String(), -1)
	for _, c := range []struct{ id, blocks, state string }{
		{"decided", `>7<div class="faint">decided</div>`, done},
		{"late", `>3<div class="faint">out of time</div>`, done},
		{"within", `>4<div class="faint">out of time</div>`, done},
		{"stopped", `>5</td>`, interrupted},
		{"running", `>5</td>`, underWay},
		{"all", `>40</td>`, done},
	} {
		i := slices.IndexFunc(rows, func(row string) bool { return strings.Contains(row, "/runs/"+c.id+"/") })
		if i < 0 || !strings.Contains(rows[i], c.blocks) || !strings.Contains(rows[i], ">"+c.state+"<") {
			t.Errorf("the row of %s has not both %q and %q:\n%s", c.id, c.blocks, c.state, rows[max(i, 0)])
		}
	}
	for id, live := range map[string]bool{"decided": false, "within": false, "stopped": true, "running": true} {
		if w := get(t, s, "/runs/"+id+"/"); strings.Contains(w.Body.String(), "data-live=") != live {
			t.Errorf("that %s can be gone on with, or followed: %v, want %v", id, !live, live)
		}
	}
}

// A run that cannot be read is listed with its error and hides no other; so are
// files that are none of dyno's.
func TestBrokenRuns(t *testing.T) {
	root := t.TempDir()
	made{}.run(t, filepath.Join(root, "good"), false)
	write := func(id, name, text string) {
		path := filepath.Join(root, id)
		if err := os.MkdirAll(path, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("cut", "run.json", `{"schema":1,`)
	write("empty", "run.json", "")
	write("newer", "run.json", `{"schema":99,"dyno":"v9"}`)
	write("planless", "run.json", `{"schema":1}`)
	write("list", "run.json", `[]`)
	made{}.run(t, filepath.Join(root, "torn"), false)
	for _, text := range []string{`{"schema":1,"settings":[{"values":{"p99-sec":{"center":1}`, `{"metrics":7}`, `"`, `{"a" 1}`, `{"settings":[}]}`, "{", ""} {
		write("torn", "summary.json", text)
		s := site(t, root)
		w := get(t, s, "/")
		want(t, w, 200, "read run.json: unexpected end of JSON input", "has schema 99", "has no plan", "read summary.json", `href="/runs/good/"`)
		if n := strings.Count(w.Body.String(), ">broken<"); n != 6 {
			t.Errorf("%q: %d runs are broken", text, n)
		}
		want(t, get(t, s, "/trend?name=sessions"), 200)
		want(t, get(t, s, "/runs/cut/"), 500, "cannot be read")
		want(t, get(t, s, "/runs/cut/files/"), 200, "run.json")
		want(t, get(t, s, "/compare?a=good&b=cut"), 500, "The run cut cannot be read")
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("top secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	made{}.run(t, filepath.Join(root, "sly"), false)
	os.Remove(filepath.Join(root, "sly", "results.jsonl"))
	if err := os.Symlink(secret, filepath.Join(root, "sly", "results.jsonl")); err != nil {
		t.Fatal(err)
	}
	want(t, get(t, site(t, root), "/"), 200, "results.jsonl is not a file of dyno")
	want(t, get(t, site(t, root), "/runs/sly/"), 500, "not a file of dyno")
}

// Runs come, change and go between requests.
func TestRunsComeAndGo(t *testing.T) {
	root := t.TempDir()
	s := site(t, root)
	want(t, get(t, s, "/"), 200, "There are no runs here yet")
	path := filepath.Join(root, "x")
	made{trials: 2, silent: true}.run(t, path, false)
	want(t, get(t, s, "/"), 200, "1 run in", "interrupted")
	os.RemoveAll(path)
	made{}.run(t, path, false)
	want(t, get(t, s, "/"), 200, "1 run in", ">done<")
	want(t, get(t, s, "/runs/x/"), 200)
	os.RemoveAll(path)
	want(t, get(t, s, "/runs/x/"), 404, "no such run (any more)")
	want(t, get(t, s, "/"), 200, "There are no runs here yet")
	os.RemoveAll(root)
	want(t, get(t, s, "/"), 500, "look for runs")
}

// Under the race detector: lists are asked while runs come and go.
func TestListsAtOnce(t *testing.T) {
	root := t.TempDir()
	made{}.run(t, filepath.Join(root, "x"), false)
	s := site(t, root)
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for range 5 {
				get(t, s, "/")
				get(t, s, "/runs/x/")
			}
		})
	}
	for range 5 {
		os.Rename(filepath.Join(root, "x"), filepath.Join(root, "y"))
		os.Rename(filepath.Join(root, "y"), filepath.Join(root, "x"))
	}
	asking.Wait()
}

// A run directory itself is a list of one.
func TestRootIsARun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine")
	made{}.run(t, path, false)
	s := site(t, path)
	want(t, get(t, s, "/"), 200, "1 run in", `href="/runs/mine/"`)
	want(t, get(t, s, "/runs/mine/"), 200)
}

// A trend shows a change where it is, keeps machines apart, and marks them where
// they are asked to be together.
func TestTrend(t *testing.T) {
	root := t.TempDir()
	for i := range 14 {
		m := made{started: began.AddDate(0, 0, i), rev: "r" + string(rune('a'+i))}
		if i >= 8 {
			m.slower = 1.4
		}
		m.run(t, filepath.Join(root, "run"+string(rune('a'+i))), false)
	}
	made{started: began.AddDate(0, 0, 20), machine: "2"}.run(t, filepath.Join(root, "elsewhere"), false)
	s := site(t, root)
	w := get(t, s, query("/trend", "name", "sessions", "metric", "p99-sec", "setting", "GOGC=100"))
	want(t, w, 200, "1 change of level was found", "box: 2 CPUs test", "box2: 2 CPUs test", "machine: box2", "99th percentile of latency", "the level changed from")
	row := regexp.MustCompile(`(?s)<tr class="changed">.*?</tr>`).FindString(w.Body.String())
	if !strings.Contains(row, "/runs/runi/") {
		t.Errorf("the change is at %s", row)
	}
	want(t, get(t, s, query("/trend", "name", "sessions", "metric", "p99-sec", "setting", "GOGC=100", "mixed", "1")), 200, "another machine", "All runs")
	want(t, get(t, s, query("/trend", "name", "sessions", "metric", "threads")), 200, "most threads", "runa") // not a primary metric
	want(t, get(t, s, query("/trend", "name", "sessions", "metric", "no-such")), 200, "No run named")
	want(t, get(t, s, query("/trend", "name", "no-such")), 404, "has results")
}

func TestCompare(t *testing.T) {
	root := t.TempDir()
	made{}.run(t, filepath.Join(root, "a"), false)
	made{slower: 1.5, started: began.AddDate(0, 0, 1)}.run(t, filepath.Join(root, "b"), false)
	s := site(t, root)
	want(t, get(t, s, "/compare?a=a&b=b"), 200, "GOGC=100</h2>", "GOGC=50</h2>", "p99 latency", "worse", "&#43;", "other metrics", "Warnings")
	want(t, get(t, s, "/compare"), 200, "Choose two runs", `<option value="a">`)
	want(t, get(t, s, "/compare?a=a&b=a"), 200, "Both are the same run")
	want(t, get(t, s, "/compare?a=a&b=../b"), 404, "There is no run")
	want(t, get(t, s, "/compare?a=a/files&b=b"), 404, "There is no run")
}

// Lists and trends read a summary of schema 1, as a former version wrote it, and one of schema 2, which has no verdict by so
// few blocks.
func TestSummarySchemas(t *testing.T) {
	const former = "../../findings/testdata/runs/2bb5b5f/"
	root := t.TempDir()
	for _, name := range []string{"vary", "bench"} {
		for schema, file := range map[string]string{"1": name + "/summary.json", "2": name + ".json"} {
			path := filepath.Join(root, name+schema)
			if err := os.CopyFS(path, os.DirFS(former+name)); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(former + file)
			if err != nil || !strings.Contains(string(text), `"schema": `+schema+`,`) {
				t.Fatalf("%s is not of schema %s: %v", file, schema, err)
			}
			if err := os.WriteFile(filepath.Join(path, "summary.json"), text, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := site(t, root)
	list := get(t, s, "/")
	want(t, list, 200, "4 runs in")
	rows := regexp.MustCompile(`(?s)<tr.*?</tr>`).FindAllString(list.Body.String(), -1)
	for _, c := range []struct{ name, figure string }{{"vary1", "&#43;22.3% worse"}, {"vary2", "5 unclear"}, {"bench1", "14/14"}, {"bench2", "14/14"}} {
		i := slices.IndexFunc(rows, func(row string) bool { return strings.Contains(row, "/runs/"+c.name+"/") })
		if i < 0 || !strings.Contains(rows[i], c.figure) || !strings.Contains(rows[i], ">done<") {
			t.Errorf("the row of %s has no %q:\n%s", c.name, c.figure, rows[max(i, 0)])
		}
	}
	want(t, get(t, s, query("/trend", "name", "vary", "metric", "p99-sec", "setting", "GOGC=100")), 200, "vary1", "vary2", "1.912 ms", "vary2")
	want(t, get(t, s, query("/trend", "name", "bench", "metric", "example.org/shop.*/many sec/op", "setting", "bench=Lines")), 200, "bench2", "544.2")
}
