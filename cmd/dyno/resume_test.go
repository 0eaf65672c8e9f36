package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/cmd/dyno/interrupt"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/store"
)

// cutSteps leaves the campaign in DIR as if it had been killed after so many steps.
//
//	steps DIR N
func cutSteps(ts *testscript.TestScript, _ bool, args []string) {
	path := filepath.Join(ts.MkAbs(args[0]), store.RecordFile)
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	text, err := os.ReadFile(path)
	ts.Check(err)
	var r map[string]any
	ts.Check(json.Unmarshal(text, &r))
	r["steps"] = r["steps"].([]any)[:n]
	delete(r, "done")
	text, err = json.Marshal(r)
	ts.Check(err)
	ts.Check(os.WriteFile(path, text, 0o600))
}

// A question that is resumed has the flags that it had, whatever the environment says then, and knows which were typed.
func TestSetAsked(t *testing.T) {
	session := func(args ...string) *cobra.Command {
		cmd := newTune()
		fromEnvironment(cmd)
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		if err := cmd.PreRunE(cmd, nil); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	t.Setenv("DYNO_MEMORY_PRICE", "0.3")
	t.Setenv("DYNO_SUBJECT_TO", "p99 < 1s")
	r := asked(session("--goal", "min p99", "-c", "8"), &dyno.Experiment{})
	for name, want := range map[string]bool{"goal": true, "concurrency": true, "memory-price": false, "subject-to": false, "total": false} {
		if r.WasTyped(name) != want {
			t.Errorf("%s was typed: %v, want %v", name, !want, want)
		}
	}
	t.Setenv("DYNO_MEMORY_PRICE", "0.7")
	t.Setenv("DYNO_TOTAL", "1m")
	t.Setenv("DYNO_TRY", "pgo")
	cmd := session("--resume", "DIR")
	if err := setAsked(cmd.Flags(), r); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"goal": "min p99", "memory-price": "0.3", "total": "5m0s", "try": "[]", "subject-to": "[p99 < 1s]"} {
		if got := cmd.Flag(name).Value.String(); got != want {
			t.Errorf("--%s is %s, want %s", name, got, want)
		}
	}
}

// campaign.json may have been written by somebody else.
func TestSetAskedRefuses(t *testing.T) {
	for name, values := range map[string][]string{"total": {}, "gain": {"1%", "2%"}, "resume": {"/other"}, "json": {"true"}, "concurrency": {"8"}, "none-such": {"1"}} {
		err := setAsked(newTune().Flags(), &store.Record{Flags: map[string][]string{name: values}})
		if err == nil || !strings.Contains(err.Error(), "--"+name) {
			t.Errorf("%s=%q: %v", name, values, err)
		}
	}
}

type noAnswer struct{ campaign.Answer }

func (noAnswer) Text(layout.Options) string { return "" }

// Who cannot resume is not told to.
func TestPrintAnswer(t *testing.T) {
	for _, x := range []struct {
		failed error
		hint   bool
	}{{nil, false}, {interrupt.Err, true}, {fmt.Errorf("1-today: %w", campaign.ErrChanged), false}} {
		var stderr strings.Builder
		cmd := newTune()
		cmd.SetOut(io.Discard)
		cmd.SetErr(&stderr)
		if err := printAnswer(cmd, new(format), "DIR", noAnswer{}, x.failed); !errors.Is(err, x.failed) || strings.Contains(stderr.String(), "tune --resume DIR") != x.hint {
			t.Errorf("%v: %v\n%s", x.failed, err, &stderr)
		}
	}
}
