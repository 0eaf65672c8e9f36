package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// serve makes this test program the service.
const serve = "CAMPAIGN_TEST_SERVE"

func TestMain(m *testing.M) {
	guard.Main()
	if os.Getenv(serve) != "" {
		fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") })))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

var errCut = errors.New("cut")

// A pair asks for two runs, the second by what the first found, and is cut between them once.
type pair struct {
	plan  *dyno.Experiment
	other *dyno.Experiment // of the second run; nil: plan
	cut   bool
	found []string
}

func (q *pair) Subjects() *dyno.Experiment { return q.plan }

func (q *pair) Ask(ctx context.Context, measure Measure) error {
	q.found = nil
	for _, name := range []string{"1-first", "2-second"} {
		plan := q.plan
		if q.other != nil && name == "2-second" {
			plan = q.other
		}
		table, results, err := measure(ctx, name, plan, nil)
		if err != nil {
			return err
		}
		q.found = append(q.found, fmt.Sprintf("%s: %d trials, %d results", name, table.Trials, len(results)))
		if q.cut {
			return errCut
		}
	}
	return nil
}

func (q *pair) First() string              { return strings.Join(q.found, "; ") }
func (q *pair) Text(layout.Options) string { return q.First() }
func (q *pair) Document() any              { return q.found }
func (q *pair) HTML(w io.Writer) error     { _, err := io.WriteString(w, q.First()); return err }

// A question that was cut off goes on after the step that is done, and its answer is written each time.
func TestAsk(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := filepath.Join(t.TempDir(), "pair")
	plan := &dyno.Experiment{
		Name: "pair", Repeats: 1, Subject: dyno.Subject{Binary: self, Dir: "/", Env: map[string]string{serve: "1"}},
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "200"}}}, Load: dyno.Load{Concurrency: 1, Requests: 20},
	}
	plan.Draw()
	ask := func(q *pair, r *store.Record, dir string) (said string, err error) {
		var stderr strings.Builder
		c := &Campaign{Stderr: &stderr, Version: "test"}
		a, path, err := c.Ask(t.Context(), q, r, dir, func(string, bool) Answer { return q })
		if a == nil {
			t.Fatalf("no answer: %v\n%s", err, &stderr)
		}
		for name, want := range map[string]string{store.AnswerFile: q.First(), "pair.json": `"1-first: 2 trials, 2 results"`, store.RecordFile: q.First()} {
			if text, err := os.ReadFile(filepath.Join(path, name)); err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%s: %v\n%s\nwant %s", name, err, text, want)
			}
		}
		return stderr.String(), err
	}
	q := &pair{plan: plan, cut: true}
	if said, err := ask(q, &store.Record{Question: "pair", Plan: plan}, dir); !errors.Is(err, errCut) || !strings.Contains(said, "1-first: 2 settings\n") {
		t.Errorf("%v\n%s", err, said)
	}

	r, err := store.ReadRecord(dir, "pair")
	if err != nil || len(r.Steps) != 1 || r.Done {
		t.Fatalf("%v, %+v", err, r)
	}
	q = &pair{plan: r.Plan}
	if said, err := ask(q, r, dir); err != nil || strings.Contains(said, "1-first") || !strings.Contains(said, "2-second: 2 settings\n") {
		t.Errorf("%v\n%s", err, said)
	}
	if r, err = store.ReadRecord(dir, "pair"); err != nil || len(r.Steps) != 2 || !r.Done {
		t.Errorf("%v, %+v", err, r)
	}

	// A session that gets less far than one before leaves its answer as it is.
	other := *r.Plan
	other.Factors = dyno.Factors{{Name: "GOGC", Levels: []string{"100", "300"}}}
	read := func() string {
		var all []string
		for _, name := range []string{"pair.json", store.AnswerFile, store.RecordFile} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(text))
		}
		return strings.Join(all, "\n")
	}
	before := read()
	c := &Campaign{Stderr: io.Discard, Version: "test"}
	if a, _, err := c.Ask(t.Context(), &pair{plan: r.Plan, other: &other}, r, dir, nil); a != nil || !errors.Is(err, ErrChanged) {
		t.Errorf("%v, %v", a, err)
	}
	if after := read(); after != before {
		t.Errorf("%s\nwas\n%s", after, before)
	}

	// Another plan would measure something else under the same name.
	if _, _, err := c.Ask(t.Context(), &pair{plan: &other}, r, dir, nil); err == nil || !strings.Contains(err.Error(), "1-first has measured GOGC=100, GOGC=200, and would now measure GOGC=100, GOGC=300") {
		t.Error(err)
	}
	if _, _, err := c.Ask(t.Context(), q, &store.Record{Question: "pair", Plan: plan}, dir, nil); err == nil || !strings.Contains(err.Error(), "has a campaign already (consider: dyno pair --resume ") {
		t.Error(err)
	}
}
