package dyno_test

import (
	"math"
	"slices"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan/how"
)

func setting(pairs ...string) (s dyno.Setting) {
	for i := 0; i < len(pairs); i += 2 {
		s = append(s, dyno.Level{Factor: pairs[i], Value: pairs[i+1]})
	}
	return s
}

// The runtime takes a value in several forms for one.
func TestOverridden(t *testing.T) {
	const none, most = float64(math.MaxUint64), float64(math.MaxInt64)
	for _, c := range []struct {
		asked             dyno.Setting
		gogc, limit, prcs float64
		want              int
	}{
		{setting("GOGC", "400"), 400, most, 2, 0},
		{setting("GOGC", "0400"), 400, most, 2, 0},
		{setting("GOGC", "400"), 75, most, 2, 1},
		{setting("GOGC", "off"), none, most, 2, 0},
		{setting("GOGC", "-1"), none, most, 2, 0},
		{setting("GOGC", "100"), none, most, 2, 1},
		{setting("GOMEMLIMIT", "1GiB"), 100, 1 << 30, 2, 0},
		{setting("GOMEMLIMIT", "1073741824"), 100, 1 << 30, 2, 0},
		{setting("GOMEMLIMIT", "1024MiB"), 100, 1 << 30, 2, 0},
		{setting("GOMEMLIMIT", "off"), 100, most, 2, 0},
		{setting("GOMEMLIMIT", "off"), 100, 1 << 30, 2, 1},
		{setting("GOMEMLIMIT", "1GiB"), 100, most, 2, 1},
		{setting("GOMAXPROCS", "9"), 100, most, 9, 0},
		{setting("GOMAXPROCS", "9"), 100, most, 2, 1},
		{setting("GOGC", "400", "GOMAXPROCS", "4"), 75, most, 2, 2},
		{setting("GOGC", "400"), math.NaN(), math.NaN(), 2, 0},
	} {
		seen := dyno.Seen{By: dyno.ByRuntime, Settings: []dyno.Setting{dyno.InForce(c.gogc, c.limit, c.prcs)}}
		if got := dyno.Overridden(c.asked, seen); len(got) != c.want {
			t.Errorf("asked for %s, and %v is in force: %v", c.asked, seen.Settings, got)
		}
	}
}

// What a program did while it got ready does not count; the surest source that knows a setting is believed.
func TestOverriddenOverTime(t *testing.T) {
	seen := func(by string, values ...string) (s dyno.Seen) {
		s.By = by
		for _, v := range values {
			s.Settings = append(s.Settings, setting("GOGC", v))
		}
		return s
	}
	for _, c := range []struct {
		seen []dyno.Seen
		want string
	}{
		{[]dyno.Seen{seen(dyno.ByRuntime, "off", "400", "400")}, ""},
		{[]dyno.Seen{seen(dyno.ByRuntime, "75")}, "GOGC=400 did not take effect: 75 is in force"},
		{[]dyno.Seen{seen(dyno.ByRuntime, "400", "75", "75")}, "GOGC=400 did not take effect: it changed while the subject ran, such as to 75"},
		{[]dyno.Seen{seen(dyno.ByRuntime, "400", "90", "400")}, "GOGC=400 did not take effect: it changed while the subject ran, such as to 90"},
		{[]dyno.Seen{seen(dyno.ByRuntime, "400"), seen(dyno.ByTrace, "75")}, ""},
		{[]dyno.Seen{seen(dyno.ByRuntime), seen(dyno.ByEnvironment, "75")}, "GOGC=400 did not take effect: the process that answers was started with 75"},
		{[]dyno.Seen{{By: dyno.ByRuntime, Settings: []dyno.Setting{setting("GOMAXPROCS", "2")}}, seen(dyno.ByTrace, "75")}, "GOGC=400 did not take effect: the goals of collections are those of about 75"},
	} {
		got := how.Overridden(dyno.Overridden(setting("GOGC", "400"), c.seen...))
		if c.want == "" && got != nil || c.want != "" && !slices.Equal(got, []string{c.want}) {
			t.Errorf("%v: got %q, want %q", c.seen, got, c.want)
		}
	}
}

func TestAsked(t *testing.T) {
	s := dyno.Subject{Binary: "x", Arg: map[string]string{"gc": "80"}, Env: map[string]string{"GOGC": "{{.arg.gc}}", "GOMAXPROCS": "0", "GOMEMLIMIT": ""}}
	if got := (&dyno.Trial{Subject: s}).Asked().String(); got != "GOGC=80" {
		t.Errorf("asked for %q: the runtime ignores GOMAXPROCS=0, and an empty variable is the program's affair", got)
	}
	s.Binary, s.URL = "", "http://x"
	if got := (&dyno.Trial{Subject: s}).Asked(); got != nil {
		t.Errorf("asked for %s, of a service that dyno did not launch", got)
	}
}

func TestProgramReads(t *testing.T) {
	for _, c := range []struct {
		s, t dyno.Setting
		want string
	}{
		{setting("FOO", "1"), setting("FOO", "2"), "FOO"},
		{setting("arg.n", "1", "FOO", "1"), setting("arg.n", "2", "FOO", "1"), "arg.n"},
		{setting("GOGC", "1", "FOO", "1"), setting("GOGC", "2", "FOO", "2"), ""},
		{setting("rev", "1"), setting("rev", "2"), ""},
		{setting("load.rate", "1"), setting("load.rate", "2"), ""},
	} {
		if got := dyno.ProgramReads(c.s, c.t); (c.want == "") != (got == nil) || got != nil && got[0] != c.want {
			t.Errorf("%s and %s: %q", c.s, c.t, got)
		}
	}
}
