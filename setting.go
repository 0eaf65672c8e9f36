package dyno

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Factor is one thing that an experiment varies. Its name says what a level changes:
//
//	GOGC, any other variable   the subject's environment; of GOEXPERIMENT, GOFLAGS and the like the build's, too
//	arg.NAME                   the value of {{.arg.NAME}} in arguments, environment and load
//	go                         the Go toolchain that builds the subject
//	rev                        the git revision that it is built from
//	version                    the version of a published module
//	dep:MODULE                 the version of a module that it depends on, in place of that of go.mod; "." is that. dep:go is the go line
//	build                      flags of go build
//	limit.cpu, limit.memory    the limits of its control group; "none" is none
//	load.rate                  the rate of the load, or its stages
//	load.speed                 how much faster than recorded a replay is
//	load.concurrency           its clients, or its most connections
//	needs.NAME.KEY             what the plan says of a need: delay, args, seed, rev, version, env.VARIABLE
type Factor struct {
	Name   string
	Levels []string // as written; the first is the baseline
}

// Factors are written as an object in order: {"GOGC": ["100", "50"]}.
type Factors []Factor

// MarshalJSON implements json.Marshaler.
func (fs Factors) MarshalJSON() ([]byte, error) {
	return marshalOrdered(len(fs), func(i int) (string, any) { return fs[i].Name, fs[i].Levels })
}

// A Level is one value of a factor.
type Level struct{ Factor, Value string }

// A Setting is one level for every factor, in order.
type Setting []Level

// String returns "GOGC=100 GOMEMLIMIT=1GiB": equal settings have equal strings.
func (s Setting) String() string {
	parts := make([]string, len(s))
	for i, l := range s {
		v := l.Value
		if v == "" || strings.ContainsAny(v, " \"=") || strings.ContainsFunc(v, func(r rune) bool { return !strconv.IsPrint(r) }) {
			v = strconv.Quote(v)
		}
		parts[i] = l.Factor + "=" + v
	}
	return strings.Join(parts, " ")
}

// Label returns the setting's name in reports: String, or "(as is)" if it is empty.
func (s Setting) Label() string { return cmp.Or(s.String(), "(as is)") }

// MarshalJSON implements json.Marshaler: {"GOGC":"50"}, in order.
func (s Setting) MarshalJSON() ([]byte, error) {
	return marshalOrdered(len(s), func(i int) (string, any) { return s[i].Factor, s[i].Value })
}

// UnmarshalJSON implements json.Unmarshaler; it keeps the order of the keys.
func (s *Setting) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return err
	}
	*s = nil
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var l Level
		var ok bool
		if l.Factor, ok = key.(string); !ok {
			return fmt.Errorf("setting: want an object, got %s", data)
		}
		if err := dec.Decode(&l.Value); err != nil {
			return err
		}
		*s = append(*s, l)
	}
	return nil
}

func marshalOrdered(n int, at func(int) (string, any)) ([]byte, error) {
	members := make([][]byte, n)
	for i := range n {
		name, value := at(i)
		one, err := json.Marshal(map[string]any{name: value})
		if err != nil {
			return nil, err
		}
		members[i] = one[1 : len(one)-1]
	}
	return slices.Concat([]byte("{"), bytes.Join(members, []byte(",")), []byte("}")), nil
}

var (
	envName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	argName   = regexp.MustCompile(`^arg\.[A-Za-z_][A-Za-z0-9_]*$`)
	goVersion = regexp.MustCompile(`^1\.\d+(\.\d+)?(rc\d+|beta\d+)?$`)
)

// IsName reports whether s can be the name of an environment variable, or of data.
func IsName(s string) bool { return envName.MatchString(s) }

// IsGoVersion reports whether s is a version of a Go toolchain, such as 1.25.5.
func IsGoVersion(s string) bool { return goVersion.MatchString(s) }

// runtimeVariables are those that a typing mistake would hide: the environment takes any name.
var runtimeVariables = []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", "GOEXPERIMENT", "GOAMD64", "GOARM64", "GOFLAGS", "CGO_ENABLED"}

// DepFactor begins the name of a factor that is a module's version.
const DepFactor = "dep:"

// OfSource reports whether a factor makes a difference only by the source that is built.
func OfSource(factor string) bool {
	return factor == "rev" || factor == "version" || strings.HasPrefix(factor, DepFactor)
}

// OfBuild reports whether a factor makes a difference only by the program that is built.
func OfBuild(factor string) bool { return OfSource(factor) || slices.Contains(ofBuild, factor) }

// ofBuild are, beside those of the source, factors that make a difference only by the program that is built: those of package
// dyno, and variables that only the go command reads (go help environment).
var ofBuild = []string{"go", "build", "GOEXPERIMENT", "GOFLAGS", "GOAMD64", "GOARM64", "GOFIPS140", "GOTOOLCHAIN", "CGO_ENABLED", "CGO_CFLAGS", "CGO_LDFLAGS"}

// DifferInBuild reports whether two settings differ, and only in what makes the program. If both
// have one program, a comparison of them is of it with itself.
func DifferInBuild(s, t Setting) bool {
	kept := func(s Setting) string {
		return slices.DeleteFunc(slices.Clone(s), func(l Level) bool { return OfBuild(l.Factor) }).String()
	}
	return s.String() != t.String() && kept(s) == kept(t)
}

// ProgramReads returns the factors in which two settings differ, if these are all variables or arguments whose only
// reader is the program itself; else nil.
func ProgramReads(s, t Setting) (names []string) {
	for _, l := range t {
		if v, _ := s.Get(l.Factor); v == l.Value {
			continue
		}
		if OfBuild(l.Factor) || slices.Contains(runtimeVariables, l.Factor) || !IsName(l.Factor) && !argName.MatchString(l.Factor) {
			return nil
		}
		names = append(names, l.Factor)
	}
	return names
}

func (t *Trial) apply(l Level) (err error) {
	if name := strings.ToUpper(l.Factor); name != l.Factor && slices.Contains(runtimeVariables, name) {
		return fmt.Errorf("unknown factor %q (did you mean %s?)", l.Factor, name)
	}
	switch {
	case l.Factor == "go":
		v := strings.TrimPrefix(l.Value, "go")
		if !IsGoVersion(v) {
			return fmt.Errorf("bad Go version %q (want for example 1.25.5)", l.Value)
		}
		t.Subject.Go = v
	case l.Factor == "rev":
		if l.Value == "" || strings.HasPrefix(l.Value, "-") {
			return fmt.Errorf("bad git revision %q (want a revision, or . for the working tree)", l.Value)
		}
		t.Subject.Rev = l.Value
		if l.Value == "." {
			t.Subject.Rev = ""
		}
	case l.Factor == "version":
		module, _, _ := strings.Cut(t.Subject.Module, "@")
		t.Subject.Module = module + "@" + l.Value
	case strings.HasPrefix(l.Factor, DepFactor):
		t.Subject.Deps = with(t.Subject.Deps, strings.TrimPrefix(l.Factor, DepFactor), l.Value)
	case l.Factor == "build":
		var flags []string
		flags, err = SplitFlags(l.Value)
		t.Subject.Build = slices.Concat(t.Subject.Build, flags)
	case l.Factor == "load.rate":
		t.Load.Rate, err = ParseRate(l.Value)
	case l.Factor == "load.speed":
		t.Load.Speed, err = ParseSpeed(l.Value)
	case l.Factor == "load.concurrency":
		n, err := strconv.Atoi(l.Value)
		if err != nil || n < 1 {
			return fmt.Errorf("bad concurrency %q (want a whole number from 1)", l.Value)
		}
		t.Load.Concurrency = n
	case l.Factor == "limit.cpu":
		t.Limits.CPU, err = ParseCPUs(l.Value)
	case l.Factor == "limit.memory":
		t.Limits.Memory, err = ParseSize(l.Value)
	case strings.HasPrefix(l.Factor, "needs."):
		err = t.applyNeed(strings.TrimPrefix(l.Factor, "needs."), l.Value)
	case argName.MatchString(l.Factor):
		t.Subject.Arg = with(t.Subject.Arg, strings.TrimPrefix(l.Factor, "arg."), l.Value)
	case IsName(l.Factor):
		t.Subject.Env = with(t.Subject.Env, l.Factor, l.Value)
	default:
		return fmt.Errorf("unknown factor %q (want an environment variable, arg.NAME, go, rev, version, dep:MODULE, build, limit.cpu, limit.memory, load.rate, load.speed, load.concurrency or needs.NAME.KEY)", l.Factor)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", l.Factor, err)
	}
	return nil
}

func with(m map[string]string, k, v string) map[string]string {
	c := map[string]string{}
	maps.Copy(c, m)
	c[k] = v
	return c
}

// SplitFlags splits a line into words at spaces, quotes holding a word together, as in
// `-gcflags='-N -l' -pgo=off`.
func SplitFlags(s string) ([]string, error) {
	if rest := flagWord.ReplaceAllString(s, ""); strings.Trim(rest, " ") != "" {
		return nil, fmt.Errorf("unclosed %c in %q", strings.Trim(rest, " ")[0], s)
	}
	words := flagWord.FindAllString(s, -1)
	for i, word := range words {
		words[i] = quotedPart.ReplaceAllString(word, "$1$2")
	}
	return words, nil
}

var (
	flagWord   = regexp.MustCompile(`(?:[^ '"]|'[^']*'|"[^"]*")+`)
	quotedPart = regexp.MustCompile(`'([^']*)'|"([^"]*)"`)
)

// RuntimeTakes reports whether the Go runtime takes the level. It ignores a malformed GOGC
// or GOMAXPROCS, so that two levels would be one (readGOGC in runtime/mgcpacer.go,
// schedinit in runtime/proc.go), and crashes on a malformed GOMEMLIMIT.
func RuntimeTakes(l Level) bool {
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
