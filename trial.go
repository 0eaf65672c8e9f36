package dyno

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Trial is one launch of the subject under one setting. Subject and Load have the levels of the
// setting. With a Slice, a trial is a part of one launch under the first setting.
type Trial struct {
	N       int // position in the plan, from 1
	Block   int // which repeat, from 1
	Setting Setting
	Subject Subject
	Load    Load
	Probes  Probes

	Limits  Limits // of the subject's control group
	Grouped bool   // the subject has one, be it without limits, where another trial has some: so that both are accounted alike
	Leak    bool   // collections are forced just before and after the window, and the heap profiled, to see what grew

	For     string   // "", ForProfile, ForTrace, ForMemory or ForSame: its values are compared only if ""
	Profile []string // what a trial ForProfile takes
	Trace   Duration // what a trial ForTrace takes
}

// Levels lists the settings, the baseline first; of crossed factors the last changes
// fastest.
func (e *Experiment) Levels() []Setting {
	if len(e.Settings) > 0 {
		return e.Settings
	}
	settings := []Setting{nil}
	for _, f := range e.Factors {
		var next []Setting
		for _, s := range settings {
			for _, v := range f.Levels {
				next = append(next, append(slices.Clip(s), Level{f.Name, v}))
			}
		}
		settings = next
	}
	return settings
}

// Place is where a setting is among the Levels, -1 if it is not.
func (e *Experiment) Place(s Setting) int {
	name := s.String()
	return slices.IndexFunc(e.Levels(), func(l Setting) bool { return l.String() == name })
}

// Trials lists all trials in order; Planned counts them. Each repeat is a block of every
// setting, in an order that is random by the seed and balanced over blocks, so that drift falls on all
// alike. Trials for a purpose come last, but for More. The experiment must have
// passed Check. InOrder has the order in which they are run.
func (e *Experiment) Trials() []Trial {
	settings := e.Levels()
	order := e.order(len(settings))
	var trials []Trial
	leaks := e.looksForLeaks()
	for _, p := range e.parts() {
		for block := p.after + 1; block <= p.after+p.blocks; block++ {
			for _, i := range p.settings(func() []int { return order(block) }) {
				t := e.Trial(settings[i])
				t.N, t.Block, t.For = len(trials)+1, block, p.purpose
				t.Load.Seed = e.Rand(uint64(block)).Uint64()
				switch p.purpose {
				case ForProfile:
					t.Profile = e.Profile
				case ForTrace:
					t.Trace = e.Trace
				case ForMemory:
					t.Load = t.Load.brief()
				default:
					t.Leak = leaks
					if e.Relink != nil && *e.Relink {
						t.Subject.Layout = e.Rand(layoutStream+uint64(block)).Uint32() | 1
					}
				}
				trials = append(trials, t)
			}
		}
	}
	return trials
}

// Trial returns a trial of a setting, without its numbers and purpose. The
// experiment must have passed Check.
func (e *Experiment) Trial(s Setting) Trial {
	t, err := e.trial(s)
	if err != nil {
		panic("dyno: a trial of an experiment that was not checked: " + err.Error())
	}
	t.Load = t.Load.Resolved()
	return t
}

// looksForLeaks reports whether all trials can look for leaks: they are long enough, and
// collections may be forced, which GOGC=off would not allow.
func (e *Experiment) looksForLeaks() bool {
	return e.Subject.Launched() && e.Slice == 0 && !slices.ContainsFunc(e.Levels(), func(s Setting) bool {
		t, err := e.trial(s)
		gogc := t.Subject.Env["GOGC"]
		return err != nil || t.Load.Resolved().Duration < LeakWindow || gogc == "off" || strings.HasPrefix(gogc, "-")
	})
}

func (e *Experiment) givesBack() bool {
	l := e.Load.Resolved()
	if e.Memory != nil {
		return *e.Memory
	}
	return e.Subject.Launched() && e.Slice == 0 && l.Command == "" && (l.Idle > 0 || l.Duration >= LongWindow)
}

// brief is the load of a trial ForMemory, no longer than it takes to fill the heap. Stages
// of a rate and recordings stay whole: their peak may be the last.
func (l Load) brief() Load {
	if l.Length() == 0 {
		l.Duration = min(l.Duration, LongWindow)
	}
	l.Idle = Duration(l.Idle.Or(DefaultIdle))
	l.KeepRequests = "none"
	return l
}

func (e *Experiment) grouped() bool {
	return e.Limits != Limits{} || e.varies("limit.cpu") || e.varies("limit.memory")
}

// MostCompared is the greatest number of trials whose values are compared, without More.
// They come first.
func (e *Experiment) MostCompared() int { return len(e.Levels()) * e.parts()[0].blocks }

// Compared is the number of trials whose values are compared, 0 if the run decides how
// many it takes.
func (e *Experiment) Compared() int {
	blocks := e.Resolved().Repeats
	for _, m := range e.More {
		blocks = m.After + m.Blocks
	}
	return len(e.Levels()) * blocks
}

// trial returns the trial of a setting, the load not resolved: checks see what the user
// said.
func (e *Experiment) trial(s Setting) (Trial, *PlanError) {
	all := e.Resolved()
	t := Trial{Setting: s, Subject: all.Subject, Load: e.load(), Probes: all.Probes, Limits: e.Limits, Grouped: e.grouped()}
	if e.Slice > 0 { // one launch, under the first level
		t.Load.Duration = e.sliced()
		s = e.Levels()[0]
	}
	for _, l := range s {
		if e.Slice > 0 && l.Factor == ProbesFactor || e.Bench != nil && l.Factor == BenchFactor {
			continue
		}
		if err := t.apply(l); err != nil {
			return t, PlanErrorf("%v", err).of("vary", l.Factor)
		}
	}
	return t, nil
}

// Check reports the first mistake as a *PlanError, or nil. CheckFile leaves out what a
// flag can still add.
func (e *Experiment) Check() error {
	if err := e.CheckFile(); err != nil {
		return err
	}
	if err := cmp.Or(e.checkCompared(), e.checkOn()); err != nil {
		return err
	}
	for _, s := range e.Levels() {
		t, err := e.trial(s)
		if err != nil {
			return err
		}
		for _, l := range s {
			if name, ok := strings.CutPrefix(l.Factor, "arg."); ok && !t.uses(name) {
				return PlanErrorf("factor %s is used nowhere (consider: {{.arg.%s}} in the arguments, the environment, the files or the load)", l.Factor, name).of("vary", l.Factor)
			}
		}
	}
	return nil
}

// CheckFile is Check for a plan that flags may still add to.
func (e *Experiment) CheckFile() *PlanError {
	if e.Bench != nil {
		return e.checkBench()
	}
	if err := cmp.Or(
		e.Subject.check(),
		e.checkScheme(),
		e.checkFactors(),
	); err != nil {
		return err
	}
	if err := cmp.Or(e.checkSlice(), e.checkTurns()); err != nil { // with a sane number of levels
		return err
	}
	for _, s := range e.Levels() {
		t, err := e.trial(s)
		if err != nil {
			return err
		}
		endless := t.Load.None && t.Load.Duration == 0 && t.Subject.Launched()
		if err := cmp.Or(
			t.Load.check(),
			wrong(endless, "load none", "a load of none has no end (want for example duration: 10m)"),
			t.checkSource(),
		); err != nil {
			return err
		}
	}
	return cmp.Or(e.checkProfiles(), e.checkMemory(), e.checkRelink(), e.checkAwake(), e.checkPrimary(), e.Probes.check(), CheckThresholds(e.Thresholds, e.MetricNames()))
}

// checkPrimary checks the names of metrics that decide.
func (e *Experiment) checkPrimary() *PlanError {
	seen := map[string]bool{}
	for i, name := range e.Primary {
		m, err := MetricOf(ThresholdName(name), e.MetricNames())
		if err == nil && m.Better == 0 {
			err = fmt.Errorf("%s is never compared", name)
		}
		if err == nil && seen[m.Name] {
			err = fmt.Errorf("%s is listed twice", name)
		}
		if err != nil {
			return PlanErrorf("primary: %v", err).of("primary", strconv.Itoa(i))
		}
		seen[m.Name] = true
	}
	return nil
}

// PrimaryMetrics are the full names of the metrics that decide; nil if the plan names none. The experiment must have
// passed Check.
func (e *Experiment) PrimaryMetrics() (names []string) {
	for _, name := range e.Primary {
		if m, err := MetricOf(ThresholdName(name), e.MetricNames()); err == nil {
			names = append(names, m.Name)
		}
	}
	return names
}

// checkProfiles checks profiles and traces, which have trials of their own.
func (e *Experiment) checkProfiles() *PlanError {
	for i, name := range e.Profile {
		switch {
		case !slices.Contains(ProfileNames, name):
			return PlanErrorf("unknown profile %q (want %s)", name, strings.Join(ProfileNames, ", ")).of("profile")
		case slices.Contains(e.Profile[:i], name):
			return PlanErrorf("profile %s is listed twice", name).of("profile")
		}
	}
	reachable := e.Probes.Pprof != "" || e.Subject.Source() && !bool(e.Subject.NoInject)
	cure := "consider: probes.pprof: /debug/pprof, if the service has it, or " + e.Subject.injectCure()
	return cmp.Or(
		wrong(e.ProfileRepeats > 0 && len(e.Profile) == 0, "profile_repeat", "profile_repeat needs profile (want for example profile: [cpu, allocs])"),
		wrong(e.Trace > MostTrace, "trace", "a trace of %v is too long (want at most %v)", e.Trace, MostTrace),
		wrong(len(e.Profile) > 0 && !reachable, "profile", "dyno cannot take a profile of %s (%s)", &e.Subject, cure),
		wrong(e.Trace > 0 && !reachable, "trace", "dyno cannot take a trace of %s (%s)", &e.Subject, cure),
	)
}

func (e *Experiment) checkMemory() *PlanError {
	if e.Memory == nil || !*e.Memory {
		return nil
	}
	return cmp.Or(
		wrong(!e.Subject.Launched(), "memory", "memory trials need launches, but %s runs already (consider: memory: false)", &e.Subject),
		wrong(e.Slice > 0, "memory", "slices have no trial for memory, which needs its own launch (consider: a run without slice)"),
		wrong(e.Load.Command != "", "memory", "a trial for memory needs dyno's own load, not a command (consider: memory: false)"),
	)
}

// No plan has more settings and trials than these. More results would take all memory once they are
// read.
const (
	mostSettings = 10_000
	MostTrials   = 5_000
)

// checkMany bounds what Levels and Trials write out.
func (e *Experiment) checkMany() *PlanError {
	n := max(float64(len(e.Settings)), 1)
	for _, f := range e.Factors {
		n *= max(float64(len(f.Levels)), 1)
	}
	if n > mostSettings {
		return PlanErrorf("%.3g settings are too many (want at most %d)", n, mostSettings).of("vary")
	}
	if e.Bench != nil {
		return nil
	}
	blocks, key := max(e.Repeats, 1), "repeat"
	if e.Sequential() {
		blocks, key = MostBlocks, "vary"
	}
	more := 0.0
	for _, m := range e.More {
		more += float64(m.Blocks)
	}
	if n *= float64(blocks) + float64(e.ProfileRepeats) + more; n > MostTrials {
		return PlanErrorf("%.3g trials are too many (want at most %d)", n, MostTrials).of(key)
	}
	return nil
}

// checkFactors checks factors, settings and their number.
func (e *Experiment) checkFactors() *PlanError {
	if len(e.Factors) > 0 && len(e.Settings) > 0 {
		return PlanErrorf("vary and settings are both given (consider: settings alone, which lists whole settings)").of("settings")
	}
	if err := e.checkMany(); err != nil {
		return err
	}
	for _, f := range e.Factors {
		if len(f.Levels) == 0 {
			return PlanErrorf("factor %s has no levels (want for example --vary %s=a,b)", f.Name, f.Name).of("vary", f.Name)
		}
		if second(f.Levels, func(level string) string { return level }) >= 0 {
			return PlanErrorf("factor %s has a level twice", f.Name).of("vary", f.Name)
		}
	}
	levels := e.Levels()
	if i := second(levels, Setting.String); i >= 0 {
		return PlanErrorf("setting %q is listed twice", levels[i]).of("settings")
	}
	return nil
}

// second returns the index of the first of xs whose name one before it has, or -1.
func second[T any](xs []T, name func(T) string) int {
	seen := map[string]bool{}
	return slices.IndexFunc(xs, func(x T) bool {
		n := name(x)
		was := seen[n]
		seen[n] = true
		return was
	})
}

func (s *Subject) check() *PlanError {
	var forms []string
	for _, f := range []struct{ key, value string }{
		{"package", s.Package}, {"module", s.Module}, {"binary", s.Binary}, {"image", s.Image}, {"deployment", s.Deployment}, {"url", s.URL},
	} {
		if f.value != "" {
			forms = append(forms, f.key)
		}
	}
	switch {
	case s.PID != 0 && s.Process != "":
		return PlanErrorf("the subject has both pid and process (want one)").of("subject", "pid")
	case (s.PID != 0 || s.Process != "") && s.Launched():
		return PlanErrorf("the subject has something to launch and a pid or process that runs already (want one)").of("subject")
	case s.PID != 0 || s.Process != "":
	case len(forms) == 0:
		return PlanErrorf("no subject (want a main package, a module@version, an executable file or a URL)")
	case len(forms) > 1:
		return PlanErrorf("the subject has both %s (want one)", strings.Join(forms, " and ")).of("subject")
	case s.Module != "" && !strings.Contains(s.Module, "@"):
		return PlanErrorf("module %s has no version (want for example %s@latest)", s.Module, s.Module).of("subject", "module")
	case s.URL != "" && !IsAddress(s.URL):
		return PlanErrorf("bad URL %q (want the address of a service, such as http://127.0.0.1:8080, and the path in load.path)", s.URL).of("subject", "url")
	case s.Go != "" && !goVersion.MatchString(s.Go):
		return PlanErrorf("bad Go version %q (want for example 1.25.5)", s.Go).of("subject", "go")
	case s.Ready != "" && !strings.HasPrefix(s.Ready, "/"):
		return PlanErrorf("ready: %q is not a URL path (want for example /healthz)", s.Ready).of("subject", "ready")
	case (s.Addr != "" || len(s.Files) > 0) && !s.Launched():
		return PlanErrorf("addr and files need a subject that dyno launches, not %s (consider: url alone)", s).of("subject")
	case s.Addr != "" && !strings.Contains(s.Addr, "{{") && !IsAddress(s.Addr):
		return PlanErrorf("bad addr %q (want for example https://{{.Addr}} or https://127.0.0.1:8443)", s.Addr).of("subject", "addr")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		if !filepath.IsLocal(name) {
			return PlanErrorf("bad name %q of a file (want a path below {{.Dir}}, for example etc/service.yaml)", name).of("subject", "files", name)
		}
	}
	return nil
}

// checkScheme finds an address that only a program speaks with.
func (e *Experiment) checkScheme() *PlanError {
	for key, address := range map[string]string{"url": e.Subject.URL, "addr": e.Subject.Addr} {
		scheme, _, _ := strings.Cut(address, "://")
		if address != "" && e.Load.Program == "" && scheme != "http" && scheme != "https" && !strings.HasPrefix(scheme, "{{") {
			return PlanErrorf("bad URL %q (want the address of a service, such as http://127.0.0.1:8080, and the path in load.path; consider: load.program for other protocols)", address).of("subject", key)
		}
	}
	return nil
}

// checkSource finds factors that this form of subject cannot have.
func (t *Trial) checkSource() *PlanError {
	s := &t.Subject
	for _, l := range t.Setting {
		switch {
		case strings.HasPrefix(l.Factor, "load.") || strings.HasPrefix(l.Factor, "arg."):
		case l.Factor == "rev" && s.Package == "":
			return PlanErrorf("factor rev needs a package in a git repository, not %s", s).of("vary", "rev")
		case (l.Factor == "go" || l.Factor == "build") && !s.Source():
			return PlanErrorf("factor %s needs a subject that is built from source, not %s", l.Factor, s).of("vary", l.Factor)
		case !s.Launched():
			return PlanErrorf("factor %s needs a subject that dyno launches, not %s", l.Factor, s).of("vary", l.Factor)
		}
	}
	for _, l := range t.Setting {
		if !runtimeTakes(l) {
			return PlanErrorf("%s=%s: the Go runtime does not accept this value", l.Factor, l.Value).of("vary", l.Factor)
		}
	}
	return cmp.Or(
		wrong(t.Limits != (Limits{}) && !s.Launched(), "limits", "limits need a subject that dyno launches, not %s", s),
		wrong(s.Go != "" && !s.Source(), "subject go", "go needs a subject that is built from source, not %s", s),
	)
}

func (t *Trial) uses(arg string) bool {
	texts := slices.AppendSeq(append(slices.Clone(t.Subject.Args), t.Subject.Addr), maps.Values(t.Subject.Env))
	texts = slices.AppendSeq(texts, maps.Values(t.Subject.Files))
	return slices.ContainsFunc(texts, func(s string) bool { return usesArg(s, arg) }) || t.Load.Uses(arg)
}

// Uses reports whether any step or the command of the load uses {{.arg.NAME}}.
func (l *Load) Uses(arg string) bool {
	if l.GRPC != nil && l.GRPC.uses(arg) || usesArg(l.Command, arg) || slices.ContainsFunc(l.Args, func(s string) bool { return usesArg(s, arg) }) {
		return true
	}
	for s := range l.Client.requests() {
		texts := slices.AppendSeq([]string{s.Path, s.Body}, maps.Values(s.Headers))
		if slices.ContainsFunc(texts, func(s string) bool { return usesArg(s, arg) }) {
			return true
		}
	}
	return false
}

// usesArg reports whether a template uses .arg.NAME, or .arg as a whole.
func usesArg(text, name string) bool {
	for _, m := range argUse.FindAllStringSubmatch(text, -1) {
		if m[1] == name || m[1] == "" {
			return true
		}
	}
	return false
}

var argUse = regexp.MustCompile(`\.arg\b(?:\.([A-Za-z_][A-Za-z0-9_]*))?`)

func (p *Probes) check() *PlanError {
	for _, name := range p.Use {
		if !slices.Contains(ProbeNames, name) {
			return PlanErrorf("unknown probe %q (want %s)", name, strings.Join(ProbeNames, ", ")).of("probes", "use")
		}
	}
	if p.Every != 0 && p.Every < Duration(10e6) {
		return PlanErrorf("probes every %v is too often (want at least 10ms)", p.Every).of("probes", "every")
	}
	for _, source := range []struct{ name, where, example string }{{"expvar", p.Expvar, "/debug/vars"}, {"prometheus", p.Prometheus, "/metrics"}, {"pprof", p.Pprof, "/debug/pprof"}} {
		w := source.where
		if w != "" && !strings.HasPrefix(w, "/") && !strings.HasPrefix(w, "http://") && !strings.HasPrefix(w, "https://") {
			return PlanErrorf("%s: %q is neither a path of the service nor a URL", source.name, w).of("probes", source.name)
		}
		if w == "" && slices.Contains(p.Use, source.name) {
			return PlanErrorf("probe %s needs the path where the service publishes it (consider: %[1]s: %s)", source.name, source.example).of("probes", "use")
		}
	}
	if len(p.Metrics) > 0 && p.Prometheus == "" {
		return PlanErrorf("metrics needs prometheus (consider: prometheus: /metrics)").of("probes", "metrics")
	}
	return nil
}
