package report

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/certify"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/capacity"
	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/report/knee"
	"github.com/dynolab/dyno/internal/report/prediction"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/report/tuned"
	"github.com/dynolab/dyno/internal/tune"
)

// keys are those of an object, in their order.
func keys(t *testing.T, text []byte) (names []string) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.Token()
	for d.More() {
		name, _ := d.Token()
		names = append(names, name.(string))
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// All answers begin with one envelope.
func TestEnvelope(t *testing.T) {
	plan := &dyno.Experiment{Name: "svc", Subject: dyno.Subject{Package: "./svc"}}
	h := answer.Head{Dyno: "v1", Plan: plan, Made: time.Unix(1e9, 0).UTC(), Interrupted: true}
	today := dyno.Setting{{Factor: "GOGC", Value: "100"}}
	objective, err := dyno.ParseObjective("p99 < 30ms")
	if err != nil {
		t.Fatal(err)
	}
	problem := capacity.Problem{Objectives: []dyno.Objective{objective}}
	forecast := &predict.Forecast{
		Source: predict.Source{Name: "svc", Per: predict.Request, Plan: plan, Notes: []predict.Note{{Kind: predict.NoMemory}}},
		Rows:   []predict.Row{{Prediction: gcmodel.Prediction{Setting: gcmodel.Setting{GOGC: 100}}}},
	}
	found := &tuned.Report{
		Outcome: &tune.Outcome{Problem: tune.Problem{Today: today}}, Name: "svc", Dyno: h.Dyno, Plan: plan, Made: h.Made, Interrupted: true, Notes: []string{"a note"},
	}
	settings := []answer.Setting{answer.SettingOf(today)}
	for name, c := range map[string]struct {
		document any
		kind     string
		schema   int
		own      string // the key that follows
	}{
		"summary.json": {&tables.Report{Table: compare.Tabulate(nil, compare.Options{Name: "svc", Settings: []dyno.Setting{today}}), Head: h, LeftOut: []string{"a note"}}, "service", compare.Schema, "name"},
		"capacity.json": {(&knee.Report{
			Problem: problem, Settings: []dyno.Setting{today}, Searches: []*capacity.Search{{Problem: problem}}, Dyno: h.Dyno, Plan: plan, Made: h.Made,
			Interrupted: true, Notes: []string{"a note"},
		}).Document(), "capacity", knee.Schema, "name"},
		"tune.json":        {found.Document(), "tune", tuned.Schema, "name"},
		"predictions.json": {found.Predictions(), "predictions", tuned.Schema, "name"},
		"certificate.json": {&certify.Certificate{Envelope: answer.New(certify.AnswerKind, certify.Schema, h, settings, []string{"a note"})}, "certificate", certify.Schema, "service"},
		"predict --json":   {prediction.JSON(forecast, h), "prediction", 1, "source"},
	} {
		var b bytes.Buffer
		if err := answer.Write(&b, c.document); err != nil {
			t.Fatal(err)
		}
		want := []string{"kind", "schema", "dyno", "plan", "made", "settings", "notes", "interrupted", c.own}
		if got := keys(t, b.Bytes()); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("%s begins with %v, want %v", name, got, want)
		}
		var got answer.Envelope[answer.Setting, any]
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Kind != c.kind || got.Schema != c.schema || got.Dyno != "v1" || !got.Made.Equal(h.Made) || !got.Interrupted || len(got.Notes) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
		if len(got.Settings) != 1 || got.Settings[0].Name != "GOGC=100" || got.Settings[0].Levels.String() != "GOGC=100" || !bytes.Contains(got.Plan, []byte(`"package": "./svc"`)) {
			t.Errorf("%s: settings %v, plan %s", name, got.Settings, got.Plan)
		}
	}
}

// Where there is nothing to say, lists are empty, and only the plan is null.
func TestEmptyEnvelope(t *testing.T) {
	text, err := json.Marshal(answer.New[answer.Setting, string]("x", 1, answer.Head{}, nil, nil))
	if want := `{"kind":"x","schema":1,"dyno":"","plan":null,"made":"0001-01-01T00:00:00Z","settings":[],"notes":[],"interrupted":false}`; err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
	if err := answer.Write(io.Discard, func() {}); err == nil || !strings.Contains(err.Error(), "func") {
		t.Errorf("a function is JSON: %v", err)
	}
}
