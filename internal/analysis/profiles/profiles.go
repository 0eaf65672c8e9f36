// Package profiles says what profiles of several trials tell: what each function
// costs per request, what changed between two settings, and on which line.
//
// It reads no files, and draws nothing.
package profiles

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/own"
	"github.com/google/pprof/profile"
)

// A Profiled is one profile of one trial.
type Profiled struct {
	Setting  string // as dyno.Setting prints it
	Block    int    // blocks pair settings
	Requests int64  // of the window that the profile is of
	Profile  *profile.Profile
	File     string // that it was read from, if that is known
}

type profileKind struct {
	value, count string  // the sample types
	unit         float64 // base units in one of value
	metric       string  // the metric that the values are of
	counts       string  // the metric of the counts, or "" if they say nothing of their own
	total        bool    // a state, not a flow: it is not per request
}

var profileKinds = map[string]profileKind{
	"cpu":       {"cpu", "samples", 1e-9, "cpu-sec/req", "", false},
	"heap":      {"inuse_space", "inuse_objects", 1, "inuse-B/req", "inuse-objects/req", false},
	"allocs":    {"alloc_space", "alloc_objects", 1, "alloc-B/req", "allocs/req", false},
	"goroutine": {"goroutine", "goroutine", 1, "goroutines", "", true},
	"mutex":     {"delay", "contentions", 1e-9, "mutex-wait-sec/req", "contentions/req", false},
	"block":     {"delay", "contentions", 1e-9, "block-wait-sec/req", "waits/req", false},
}

// Profiles are the profiles of one kind of all trials of a run, with functions
// that go by the same name in all of them.
type Profiles struct {
	Kind   string
	Metric string // of all figures unless said otherwise, such as "cpu-sec/req"
	Counts string // of what Count says, such as "allocs/req", or ""
	// Settings that have a profile, in the order in which they came.
	Settings []string

	kind   profileKind
	trials map[string][]*profiledTrial // by setting, in the order of blocks
	starts map[string]map[*Function]int
}

// A Function is one function of the subject, however the compiler of each setting named it.
type Function struct {
	Name    string `json:"name"` // with the package's path; of a closure one that it has in some setting
	Package string `json:"package"`
	File    string `json:"file,omitempty"` // as the profile has it
	Line    int    `json:"line,omitempty"` // where it begins
	Own     bool   `json:"own"`            // part of the subject's own module
}

type frame struct {
	fn   *Function
	line int
}

// An amount is a number of base units per request.
type amount struct {
	value, count float64
	variance     float64 // of value, that sampling gives
}

func (a *amount) add(b amount) {
	a.value += b.value
	a.count += b.count
	a.variance += b.variance
}

type stack struct {
	frames []frame // the leaf first
	names  []string
	amount
}

type profiledTrial struct {
	block  int
	stacks []stack
	total  amount
	size   float64 // sum of the magnitudes: as total, but for differences that shrink in part
}

// New reads the profiles of one of dyno.ProfileNames. own says which packages are the
// subject's own; nil means package main and what is neither standard nor another module's.
// A kind that is not known, and a profile that is not of it, are errors.
func New(kind string, taken []Profiled, own func(pkg, file string) bool) (*Profiles, error) {
	k, ok := profileKinds[kind]
	if !ok {
		return nil, fmt.Errorf("unknown kind of profile %q", kind)
	}
	p := &Profiles{
		Kind: kind, Metric: k.metric, Counts: k.counts, kind: k,
		trials: map[string][]*profiledTrial{}, starts: map[string]map[*Function]int{},
	}
	if own == nil {
		own = guessOwn(taken)
	}
	names := newNamer(taken, own)
	for _, t := range taken {
		if !slices.Contains(p.Settings, t.Setting) {
			p.Settings = append(p.Settings, t.Setting)
			p.starts[t.Setting] = map[*Function]int{}
		}
		read, err := p.read(t, names)
		if err != nil {
			return nil, fmt.Errorf("%s profile of %s, block %d: %w", kind, t.Setting, t.Block, err)
		}
		p.trials[t.Setting] = append(p.trials[t.Setting], read)
	}
	count := map[string]int{}
	for _, f := range names.functions {
		count[f.Name]++
	}
	for _, f := range names.functions {
		if count[f.Name] > 1 { // several functions have the name
			f.Name = fmt.Sprintf("%s (%s:%d)", f.Name, path.Base(f.File), f.Line)
		}
	}
	for _, ts := range p.trials {
		slices.SortStableFunc(ts, func(a, b *profiledTrial) int { return a.block - b.block })
	}
	return p, nil
}

// guessOwn goes by where package main is.
func guessOwn(taken []Profiled) func(pkg, file string) bool {
	module := ""
	for _, t := range taken {
		for _, f := range t.Profile.Function {
			if strings.HasPrefix(f.Name, "main.") {
				module = own.Module(f.Filename)
				break
			}
		}
	}
	return func(pkg, file string) bool { return own.Is(pkg, file, module) }
}

// Trials is how many profiles there are of a setting.
func (p *Profiles) Trials(setting string) int { return len(p.trials[setting]) }

// A Charge is the value of one stack, and the subject's own line that it belongs to.
type Charge struct {
	Func, File   string
	Line         int // 0 if nothing of the subject's own is on the stack
	Value, Count float64
}

// Charges are those of a setting's trials in the order of blocks.
func (p *Profiles) Charges(setting string) (trials [][]Charge) {
	for _, t := range p.trials[setting] {
		var cs []Charge
		for i := range t.stacks {
			own, _ := t.stacks[i].own()
			cs = append(cs, Charge{own.fn.Name, own.fn.File, own.line, t.stacks[i].value, t.stacks[i].count})
		}
		trials = append(trials, cs)
	}
	return trials
}

func (p *Profiles) read(t Profiled, names *namer) (*profiledTrial, error) {
	value, count := -1, -1
	for i, st := range t.Profile.SampleType {
		if st.Type == p.kind.value {
			value = i
		}
		if st.Type == p.kind.count {
			count = i
		}
	}
	if value < 0 || count < 0 {
		return nil, fmt.Errorf("it has no %s", p.kind.value)
	}
	per := 1.0
	if !p.kind.total {
		if t.Requests <= 0 {
			return nil, fmt.Errorf("its window has no requests")
		}
		per = float64(t.Requests)
	}
	out := &profiledTrial{block: t.Block}
	for _, s := range t.Profile.Sample {
		v, n := float64(s.Value[value])*p.kind.unit, float64(s.Value[count])
		if v == 0 && n == 0 {
			continue
		}
		a := amount{v / per, n / per, p.sampling(v, n, t.Profile) / (per * per)}
		st := stack{amount: a}
		for _, loc := range s.Location {
			for _, l := range loc.Line {
				// A preempting signal that arrives with the profiler's leaves the
				// sample at the door of asyncPreempt: it is of the code preempted.
				if l.Function == nil || len(st.frames) == 0 && l.Function.Name == "runtime.asyncPreempt" {
					continue
				}
				fn := names.function(t.Setting, l.Function)
				if _, known := p.starts[t.Setting][fn]; !known && !rangeBody(l.Function.Name) {
					p.starts[t.Setting][fn] = int(l.Function.StartLine)
				}
				st.frames = append(st.frames, frame{fn, int(l.Line)})
				st.names = append(st.names, l.Function.Name)
			}
		}
		if len(st.frames) == 0 {
			st.frames = []frame{{names.unknown(), 0}}
			st.names = []string{""}
		}
		out.stacks = append(out.stacks, st)
		out.total.add(a)
		out.size += math.Abs(a.value)
	}
	return out, nil
}

// sampling is the variance of a value that is known from samples. CPU samples are Poisson,
// n of v/n each. An allocated object is seen with probability q = 1-exp(-size/rate) and
// counted 1/q times (runtime/pprof, scaleHeapSample). Waiting times are taken for exponential.
func (p *Profiles) sampling(v, n float64, data *profile.Profile) float64 {
	v, n = math.Abs(v), math.Abs(n)
	if n == 0 || v == 0 {
		return 0
	}
	switch p.Kind {
	case "cpu":
		return v * v / n
	case "mutex", "block":
		return 2 * v * v / n
	case "heap", "allocs":
		rate := float64(data.Period)
		if rate <= 0 {
			rate = 512 << 10
		}
		size := v / n
		missed := math.Exp(-size / rate)
		return v * size / (1 - missed) * missed
	}
	return 0
}

// sums are what the functions of one trial account for.
type sums struct {
	by    [3]map[*Function]amount // an attribution each
	lines map[frame]amount        // of own
	via   map[call]float64        // of own: through which function the line's value comes
}

type call struct {
	frame
	callee *Function
}

// An Order says to which function of a stack its value belongs.
type Order int

const (
	// ByOwn gives it to the innermost function of the subject's own: what that
	// costs, the calls it makes into libraries included.
	ByOwn Order = iota
	// ByFlat gives it to the innermost function of all.
	ByFlat
	// ByCum gives it to every function of the stack.
	ByCum
)

func (p *Profiles) sum(t *profiledTrial) *sums {
	s := &sums{lines: map[frame]amount{}, via: map[call]float64{}}
	for i := range s.by {
		s.by[i] = map[*Function]amount{}
	}
	seen := map[*Function]bool{}
	for i := range t.stacks {
		st := &t.stacks[i]
		own, callee := st.own()
		plus(s.by[ByOwn], own.fn, st.amount)
		plus(s.by[ByFlat], st.frames[0].fn, st.amount)
		plus(s.lines, own, st.amount)
		s.via[call{own, callee}] += st.value
		clear(seen)
		for _, f := range st.frames {
			if !seen[f.fn] {
				seen[f.fn] = true
				plus(s.by[ByCum], f.fn, st.amount)
			}
		}
	}
	return s
}

func plus[K comparable](m map[K]amount, k K, a amount) {
	b := m[k]
	b.add(a)
	m[k] = b
}

// own is the innermost frame of the subject's own, and the function that it calls there, or
// nil. If there is none it is the root: what a library or the runtime does by itself.
func (s *stack) own() (f frame, callee *Function) {
	for i, f := range s.frames {
		if f.fn.Own {
			if i > 0 {
				callee = s.frames[i-1].fn
			}
			return f, callee
		}
	}
	i := len(s.frames) - 1
	for i > 0 && (s.frames[i].fn.Name == "runtime.goexit" || s.frames[i].fn.Name == "runtime.mcall" || s.frames[i].fn.Name == "runtime.systemstack") {
		i--
	}
	return frame{s.frames[i].fn, 0}, nil
}
