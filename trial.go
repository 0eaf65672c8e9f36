package dyno

import (
	"maps"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Trial is one launch of the subject under one setting, with one load. The
// levels of the setting are applied to Subject and Load already.
type Trial struct {
	N       int // position in the plan, from 1
	Block   int // which repeat, from 1
	Setting Setting
	Subject Subject
	Load    Load
	Probes  Probes
}

// Levels lists the settings in the order of reports: the baseline first. With
// factors crossed, the last factor changes fastest.
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

// Trials writes the plan out. Each repeat is a block that holds every setting
// once, shuffled, so that drift of the machine falls on all settings alike.
// The same seed gives the same order. The experiment must have passed Check.
func (e *Experiment) Trials() []Trial {
	settings := e.Levels()
	rng := rand.New(rand.NewPCG(e.Seed, 0))
	var trials []Trial
	for block := 1; block <= e.Resolved().Repeats; block++ {
		for _, i := range rng.Perm(len(settings)) {
			t, err := e.trial(settings[i])
			if err != nil {
				panic("dyno: Trials of an experiment that was not checked: " + err.Error())
			}
			t.N, t.Block = len(trials)+1, block
			t.Load.Seed = rand.New(rand.NewPCG(e.Seed, uint64(block))).Uint64()
			trials = append(trials, t)
		}
	}
	return trials
}

func (e *Experiment) trial(s Setting) (Trial, *PlanError) {
	all := e.Resolved()
	t := Trial{Setting: s, Subject: all.Subject, Load: all.Load, Probes: all.Probes}
	for _, l := range s {
		if err := t.apply(l); err != nil {
			return t, planErrorf("%v", err).of("vary", l.Factor)
		}
	}
	return t, nil
}

// Check reports the first mistake in the plan as a *PlanError, or nil. What a
// plan's file lacks and a flag can add, it finds missing; ParsePlan does not.
func (e *Experiment) Check() error {
	if err := e.check(); err != nil {
		return err
	}
	for _, s := range e.Levels() {
		t, err := e.trial(s)
		if err != nil {
			return err
		}
		for _, l := range s {
			if name, ok := strings.CutPrefix(l.Factor, "arg."); ok && !t.uses(name) {
				return planErrorf("factor %s is used nowhere (consider: {{.arg.%s}} in the arguments, the environment or the load)", l.Factor, name).of("vary", l.Factor)
			}
		}
	}
	return nil
}

func (e *Experiment) check() *PlanError {
	if e.Repeats < 0 {
		return planErrorf("repeat is %d (want at least 1)", e.Repeats).of("repeat")
	}
	if err := e.Subject.check(); err != nil {
		return err
	}
	if len(e.Factors) > 0 && len(e.Settings) > 0 {
		return planErrorf("both vary and settings are given (consider: settings alone, it lists whole settings)").of("settings")
	}
	if err := e.checkFactors(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, s := range e.Levels() {
		if seen[s.String()] {
			return planErrorf("setting %q is listed twice", s).of("settings")
		}
		seen[s.String()] = true
		t, err := e.trial(s)
		if err != nil {
			return err
		}
		if err := t.Load.check(); err != nil {
			return err
		}
		if err := t.checkSource(); err != nil {
			return err
		}
	}
	return e.Probes.check()
}

func (e *Experiment) checkFactors() *PlanError {
	names := map[string]bool{}
	for _, f := range e.Factors {
		if names[f.Name] {
			return planErrorf("factor %s is given twice", f.Name).of("vary", f.Name)
		}
		names[f.Name] = true
		if len(f.Levels) == 0 {
			return planErrorf("factor %s has no levels (want for example --vary %s=a,b)", f.Name, f.Name).of("vary", f.Name)
		}
		levels := slices.Sorted(slices.Values(f.Levels))
		if len(slices.Compact(levels)) != len(f.Levels) {
			return planErrorf("factor %s has a level twice", f.Name).of("vary", f.Name)
		}
	}
	for _, s := range e.Settings {
		names := map[string]bool{}
		for _, l := range s {
			if names[l.Factor] {
				return planErrorf("setting %q gives %s twice", s, l.Factor).of("settings")
			}
			names[l.Factor] = true
		}
	}
	return nil
}

func (s *Subject) check() *PlanError {
	var forms []string
	for _, f := range []struct{ key, value string }{
		{"package", s.Package}, {"module", s.Module}, {"binary", s.Binary}, {"url", s.URL},
	} {
		if f.value != "" {
			forms = append(forms, f.key)
		}
	}
	switch {
	case len(forms) == 0:
		return planErrorf("no subject (want a main package, a module@version, an executable file or a URL)")
	case len(forms) > 1:
		return planErrorf("the subject has both %s (want one)", strings.Join(forms, " and ")).of("subject")
	case s.Module != "" && !strings.Contains(s.Module, "@"):
		return planErrorf("module %s has no version (want for example %s@latest)", s.Module, s.Module).of("subject", "module")
	case s.URL != "" && !isAddress(s.URL):
		return planErrorf("bad URL %q (want the address of a service, such as http://127.0.0.1:8080, and the path in load.path)", s.URL).of("subject", "url")
	case s.Go != "" && !goVersion.MatchString(s.Go):
		return planErrorf("bad Go version %q (want for example 1.25.5)", s.Go).of("subject", "go")
	case s.Ready != "" && !strings.HasPrefix(s.Ready, "/"):
		return planErrorf("ready: %q is not a URL path (want for example /healthz)", s.Ready).of("subject", "ready")
	}
	return nil
}

// isAddress reports whether u is a scheme and a host, and no more.
func isAddress(u string) bool {
	p, err := url.Parse(strings.TrimSuffix(u, "/"))
	return err == nil && p.Host != "" && (p.Scheme == "http" || p.Scheme == "https") && *p == url.URL{Scheme: p.Scheme, Host: p.Host}
}

// checkSource finds factors that the form of the subject cannot have.
func (t *Trial) checkSource() *PlanError {
	s := &t.Subject
	for _, l := range t.Setting {
		switch {
		case strings.HasPrefix(l.Factor, "load.") || strings.HasPrefix(l.Factor, "arg."):
		case l.Factor == "rev" && s.Package == "":
			return planErrorf("factor rev needs a package in a git repository, not %s", s).of("vary", "rev")
		case (l.Factor == "go" || l.Factor == "build") && !s.Source():
			return planErrorf("factor %s needs a subject that is built from source, not %s", l.Factor, s).of("vary", l.Factor)
		case !s.Launched():
			return planErrorf("factor %s needs a subject that dyno launches, not the URL %s", l.Factor, s.URL).of("vary", l.Factor)
		}
	}
	for _, l := range t.Setting {
		if !runtimeTakes(l) {
			return planErrorf("%s=%s: the Go runtime would not take this value", l.Factor, l.Value).of("vary", l.Factor)
		}
	}
	if s.Go != "" && !s.Source() {
		return planErrorf("go needs a subject that is built from source, not %s", s).of("subject", "go")
	}
	return nil
}

// runtimeTakes reports whether the Go runtime would take a level of one of its
// variables. Of GOGC and GOMAXPROCS it ignores a malformed value without a word,
// so that two levels would be one (readGOGC in runtime/mgcpacer.go, schedinit in
// runtime/proc.go); of GOMEMLIMIT it makes a crash. Empty is as unset.
func runtimeTakes(l Level) bool {
	v := l.Value
	if v == "" {
		return true
	}
	n, err := strconv.ParseInt(v, 10, 32)
	switch l.Factor {
	case "GOGC":
		return v == "off" || err == nil
	case "GOMAXPROCS":
		return err == nil && n > 0
	case "GOMEMLIMIT":
		return v == "off" || memoryLimit.MatchString(v)
	}
	return true
}

var memoryLimit = regexp.MustCompile(`^[0-9]+(B|KiB|MiB|GiB|TiB)?$`)

// uses reports whether any template of the trial uses the argument.
func (t *Trial) uses(arg string) bool {
	texts := slices.AppendSeq(slices.Clone(t.Subject.Args), maps.Values(t.Subject.Env))
	return slices.ContainsFunc(texts, func(s string) bool { return usesArg(s, arg) }) || t.Load.Uses(arg)
}

// Uses reports whether the command of the load, or else any step of it, uses
// {{.arg.NAME}}.
func (l *Load) Uses(arg string) bool {
	if l.Command != "" {
		return usesArg(l.Command, arg)
	}
	c := l.Client
	for _, s := range slices.Concat(c.Setup, c.Loop, c.Teardown) {
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

func (l *Load) check() *PlanError {
	ends := 0
	for _, given := range []bool{l.Requests != 0, l.RequestsPerClient != 0, l.Duration != 0} {
		if given {
			ends++
		}
	}
	switch {
	case l.Concurrency < 0:
		return planErrorf("concurrency is %d (want at least 1)", l.Concurrency).of("load", "concurrency")
	case l.Requests < 0 || l.RequestsPerClient < 0:
		return planErrorf("the number of requests is negative").of("load", "requests")
	case ends > 1:
		return planErrorf("the load has two ends (want one of requests, requests_per_client and duration)").of("load")
	case l.Rate.Open() && l.RequestsPerClient > 0:
		return planErrorf("requests_per_client is for a closed load; with a rate use duration or requests").of("load", "requests_per_client")
	case !l.Rate.Open() && l.Arrival != "":
		return planErrorf("arrival needs a rate").of("load", "arrival")
	case l.Arrival != "" && l.Arrival != "constant" && l.Arrival != "poisson":
		return planErrorf("unknown arrival %q (want constant or poisson)", l.Arrival).of("load", "arrival")
	case l.Rate.Open() && len(l.Client.Loop) > 1:
		return planErrorf("with a rate the loop has one step, as each request is due on its own; it has %d", len(l.Client.Loop)).of("load", "client")
	}
	return l.Client.check()
}

func (c *Client) check() *PlanError {
	partOf := map[string]string{} // measured steps, by label
	for _, part := range []struct {
		name  string
		steps []Step
	}{{"setup", c.Setup}, {"loop", c.Loop}, {"teardown", c.Teardown}} {
		for i, s := range part.steps {
			at := []string{"load", "client", part.name, strconv.Itoa(i)}
			if !strings.HasPrefix(s.Path, "/") && !strings.HasPrefix(s.Path, "{{") {
				return planErrorf("path %q of a step does not begin with a slash", s.Path).of(at...)
			}
			if s.Measure == nil && part.name != "loop" || s.Measure != nil && !*s.Measure {
				continue
			}
			if p, ok := partOf[s.Label()]; ok && p != part.name {
				return planErrorf("step %q is measured in %s and in %s (consider: name: in one of them)", s.Label(), p, part.name).of(at...)
			}
			partOf[s.Label()] = part.name
		}
	}
	return nil
}

func (p *Probes) check() *PlanError {
	for _, name := range p.Use {
		if !slices.Contains(ProbeNames, name) {
			return planErrorf("unknown probe %q (want %s)", name, strings.Join(ProbeNames, ", ")).of("probes", "use")
		}
	}
	if p.Every != 0 && p.Every < Duration(10e6) {
		return planErrorf("probes every %v is too often (want at least 10ms)", p.Every).of("probes", "every")
	}
	return nil
}
