package planted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/analysis/certify"
	"github.com/dynolab/dyno/internal/subject"
)

// A fake is a campaign whose service costs what the table says of its labels.
type fake struct {
	Campaign
	log      []string // what happened, in order
	judged   []string // JSON of all that the judge was given
	outcomes []certify.Outcome
	perSpin  float64 // CPU time of a round
	lasts    time.Duration
	stop     func(run int) // called as a run begins
	runs     int
}

func newFake(t *testing.T) *fake {
	f := &fake{perSpin: 2e-9, lasts: 20 * time.Second}
	f.Campaign = Campaign{
		Plan: &dyno.Experiment{
			Subject: dyno.Subject{Package: "./svc", Env: map[string]string{"A": "b"}}, Load: dyno.Load{Duration: dyno.Duration(10 * time.Second)},
			Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}}, Within: dyno.Duration(20 * time.Second),
		},
		Table: filepath.Join(t.TempDir(), "table"), Runs: 3, Most: time.Minute,
		Hands: Hands{
			Run: f.run,
			Judge: func(e *dyno.Experiment, rs []*dyno.Result, label string) certify.Judged {
				text, err := json.Marshal([]any{e, rs, label})
				if err != nil {
					t.Error(err)
				}
				f.judged = append(f.judged, string(text))
				return certify.Judged{Label: label}
			},
			Wrote: func(j certify.Judged) { f.say("wrote " + j.Label) },
			Keep: func(os []certify.Outcome) error {
				for _, o := range os {
					f.say("opened " + o.Label)
				}
				f.outcomes = append(f.outcomes, os...)
				return nil
			},
			Say: func(string, ...any) {},
		},
	}
	return f
}

func (f *fake) say(what string) { f.log = append(f.log, what) }

// run reads the table as the service does.
func (f *fake) run(ctx context.Context, e *dyno.Experiment) (rs []*dyno.Result, err error) {
	f.runs++
	if f.stop != nil {
		f.stop(f.runs)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	time.Sleep(f.lasts)
	text, err := os.ReadFile(e.Subject.Env[subject.PlantTableEnv])
	if err != nil {
		return nil, err
	}
	for _, s := range e.Settings {
		spins := math.NaN()
		for line := range strings.SplitSeq(string(text), "\n") {
			if rest, ok := strings.CutPrefix(line, s[len(s)-1].Value+" "); ok {
				fmt.Sscan(rest, &spins)
			}
		}
		r := &dyno.Result{Trial: dyno.Trial{Setting: s}, Latency: hist.New(), Sent: dyno.Sent{Requests: 50 * int64(e.Load.Duration/dyno.Duration(time.Second))}}
		r.Latency.Add(time.Millisecond)
		r.Values = dyno.Values{{Metric: "cpu-sec/req", Value: 100e-6 + spins*f.perSpin}, {Metric: "rss-peak-B", Value: 1e6}}
		rs = append(rs, r)
	}
	return rs, nil
}

var amounts = []certify.Amount{
	{Change: certify.Change{Kind: certify.CPU, Size: 0.03125}, Spins: 51234},
	{Change: certify.Change{Kind: certify.Memory, Size: 0.0625}, Retain: 61234},
}

// A campaign has each change once a round and equal settings twice, and who judges sees nothing of
// what is planted: only labels, no two of them alike. The key is opened when the round's verdicts are
// written.
func TestBlind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		if err := f.Rounds(t.Context(), amounts); err != nil {
			t.Fatal(err)
		}
		count := map[certify.Kind]int{}
		labels := map[string]bool{}
		for _, o := range f.outcomes {
			count[o.Kind]++
			labels[o.Label] = true
			if o.Elapsed != 20 {
				t.Errorf("a run of 20 s has %v", o.Elapsed)
			}
		}
		if want := map[certify.Kind]int{certify.Equal: 6, certify.CPU: 3, certify.Memory: 3}; !reflect.DeepEqual(count, want) || len(labels) != 12 {
			t.Errorf("%v runs under %d labels, want %v", count, len(labels), want)
		}
		for _, text := range f.judged {
			for _, secret := range []string{"51234", "61234", "0.03125", "0.0625", "cpu\"", "equal", "memory\""} {
				if strings.Contains(text, secret) {
					t.Errorf("the judge sees %s: %s", secret, text)
				}
			}
			if strings.Count(text, `"DYNO_PLANT":`) == 0 {
				t.Errorf("no labels: %s", text)
			}
		}
		for i, what := range f.log {
			round := i / 8 // four verdicts, then four that are opened
			if written := i-8*round < 4; written != strings.HasPrefix(what, "wrote ") {
				t.Fatalf("step %d is %q: %q", i, what, f.log)
			}
		}
	})
}

// Orders differ, or a judge would know them.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.Runs = 40
		if err := f.Rounds(t.Context(), amounts); err != nil {
			t.Fatal(err)
		}
		places := map[int]bool{}
		for i, o := range f.outcomes {
			if o.Kind == certify.CPU {
				places[i%4] = true
			}
		}
		if len(places) != 4 { // by chance, once in 25,000 times
			t.Errorf("a change is always in the places %v of its round", places)
		}
	})
}

// No run begins that would not end in time, the first by a guess, the others by the longest before; and
// those that were judged are kept.
func TestUntil(t *testing.T) {
	for until, want := range map[time.Duration]int{59 * time.Second: 0, time.Minute: 3, 99 * time.Second: 4, 100 * time.Second: 5, time.Hour: 12} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			began := time.Now()
			f.Until = began.Add(until)
			if err := f.Rounds(t.Context(), amounts); err != nil || len(f.outcomes) != want {
				t.Errorf("%v: %d runs, %v, want %d", until, len(f.outcomes), err, want)
			}
			if took := time.Since(began); took > until {
				t.Errorf("%v: took %v", until, took)
			}
		})
	}
}

// An interrupt or a failure keeps what was judged before it.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		interrupted := errors.New("interrupted")
		ctx, cancel := context.WithCancelCause(t.Context())
		f.stop = func(run int) {
			if run == 7 {
				cancel(interrupted)
			}
		}
		if err := f.Rounds(ctx, amounts); !errors.Is(err, interrupted) || len(f.outcomes) != 6 {
			t.Errorf("%d runs kept, %v", len(f.outcomes), err)
		}
	})
}

// A campaign whose service always fails ends after a round.
func TestAllFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.Judge = func(_ *dyno.Experiment, _ []*dyno.Result, label string) certify.Judged {
			return certify.Judged{Label: label, Err: "it died"}
		}
		if err := f.Rounds(t.Context(), amounts); err == nil || !strings.Contains(err.Error(), "it died") || f.runs != 4 || len(f.outcomes) != 0 {
			t.Errorf("%d runs, %d kept, %v", f.runs, len(f.outcomes), err)
		}
	})
}

// A base is measured with a loop that costs about as much as a request, and the least one that does.
func TestCalibrate(t *testing.T) {
	for perSpin, runs := range map[float64]int{2e-9: 3, 1e-8: 2, 1e-11: 5} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			f.perSpin = perSpin
			given := *f.Plan
			base, err := f.Calibrate(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(base.Spin/perSpin-1) > 1e-9 || math.Abs(float64(base.CPU)/100e-6-1) > 1e-9 || f.runs != runs {
				t.Errorf("%v: %+v after %d runs, want %d", perSpin, base, f.runs, runs)
			}
			if base.Requests != 500 { // of a window of 10 s
				t.Errorf("%v requests of a launch", base.Requests)
			}
			if a, ok := base.Amount(certify.Change{Kind: certify.CPU, Size: 0.5}); !ok || math.Abs(float64(a.Spins)*perSpin/50e-6-1) > 1e-3 {
				t.Errorf("half of a request is %+v", a)
			}
			if !reflect.DeepEqual(*f.Plan, given) {
				t.Error("the plan of runs is another one")
			}
		})
	}
}

func TestNothingToPlantIn(t *testing.T) {
	for perSpin, want := range map[float64]string{0: "another server answers them", math.NaN(): "cannot measure the CPU time"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			f.perSpin = perSpin
			_, err := f.Calibrate(t.Context())
			var cannot *subject.PlantError
			if !errors.As(err, &cannot) || !strings.Contains(cannot.Why, want) {
				t.Errorf("%v: %v", perSpin, err)
			}
		})
	}
}

// Both settings are the baseline, with the service's own environment beside the labels.
func TestPair(t *testing.T) {
	f := newFake(t)
	e := f.First()
	if len(e.Levels()) != 2 || !slices.ContainsFunc(e.Settings[1], func(l dyno.Level) bool { return l == dyno.Level{Factor: "GOGC", Value: "100"} }) {
		t.Errorf("settings %v", e.Levels())
	}
	if e.Subject.Env["A"] != "b" || e.Subject.Env[subject.PlantTableEnv] != f.Table || len(f.Plan.Subject.Env) != 1 {
		t.Errorf("environment %v, of the plan %v", e.Subject.Env, f.Plan.Subject.Env)
	}
	if label(e, 0) == label(e, 1) || len(label(e, 0)) != len(label(e, 1)) {
		t.Errorf("labels %s and %s", label(e, 0), label(e, 1))
	}
}
