package subject

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
)

// Link builds the test binary of p with functions in an order that the seed determines; 0 is the
// linker's own. Before Go 1.23 all seeds give the same binary, and p.Warnings says so. It keeps the
// binaries of seed 0 and of the last other seed. Different packages may be linked at the same time.
func (b *Builder) Link(ctx context.Context, p *TestPackage, seed uint32) (path string, err error) {
	if p.fixed {
		seed = 0
	}
	if path := p.binaries[seed]; path != "" {
		return path, nil
	}
	var layout []string
	if seed != 0 {
		layout = []string{"-randlayout=" + strconv.FormatUint(uint64(seed), 10)}
	}
	path, err = b.goTest(ctx, p, layout)
	var failed *commandError
	if seed != 0 && errors.As(err, &failed) && strings.Contains(failed.stderr, "not defined: -randlayout") {
		p.fixed = true
		p.Warnings.AddOf(dyno.WarnLayout, p.ImportPath, "%s: its functions have the same order in all blocks, as the linker of %s has no -randlayout (want Go 1.23)", p.ImportPath, p.Go)
		return b.Link(ctx, p, 0)
	}
	if err != nil {
		return "", fmt.Errorf("build the tests of %s: %w", p.ImportPath, err)
	}
	for old, path := range p.binaries {
		if old != 0 && seed != 0 {
			os.Remove(path)
			delete(p.binaries, old)
		}
	}
	p.binaries[seed] = path
	return path, nil
}

// goTest runs go test -c and returns the executable.
func (b *Builder) goTest(ctx context.Context, p *TestPackage, layout []string, flags ...string) (string, error) {
	// All names are equally long, as they lie on the stack of the process.
	out := filepath.Join(b.dir, fmt.Sprintf("test%06d", b.scratch.Add(1)))
	if runtime.GOOS == "windows" {
		out += ".exe"
	}
	args := []string{"test", "-c", "-vet=off", "-o", out}
	if !older(p.Go, "go1.18") {
		args = append(args, "-buildvcs=false") // as in compile
	}
	// Without symbols, as go test itself does it: it takes half the time.
	ours := strings.Join(append([]string{"-s", "-w"}, layout...), " ")
	args = append(append(args, joinLdflags(ours, p.goflags, p.src.flags)...), flags...)
	if _, err := b.command(ctx, p.src.dir, p.src.env, "go", append(args, p.ImportPath)...); err != nil {
		return "", err
	}
	if !exists(out) {
		return "", fmt.Errorf("go %s made no file (consider: a package with test files)", strings.Join(args, " "))
	}
	return out, nil
}

// joinLdflags returns the flags of a build with ours added to each -ldflags: only the last that matches
// a package counts, and the command line hides GOFLAGS. A value may begin with a pattern.
func joinLdflags(ours string, goflags, flags []string) (joined []string) {
	hidden := slices.DeleteFunc(slices.Clone(goflags), func(f string) bool { return !strings.HasPrefix(strings.TrimLeft(f, "-"), "ldflags=") })
	flags = slices.Concat([]string{"-ldflags="}, hidden, flags)
	for i := 0; i < len(flags); i++ {
		name, value, ok := strings.Cut(flags[i], "=")
		if name != "-ldflags" && name != "--ldflags" {
			joined = append(joined, flags[i])
			continue
		}
		if !ok && i+1 < len(flags) {
			i++
			value = flags[i]
		}
		pattern := ""
		if before, after, ok := strings.Cut(strings.TrimSpace(value), "="); ok && !strings.HasPrefix(before, "-") {
			pattern, value = before+"=", after
		}
		joined = append(joined, strings.TrimSpace("-ldflags="+pattern+ours+" "+value))
	}
	return joined
}

// LinkSurvey builds the test binary of p, in the linker's own order, with BenchmarkDynoSurvey as
// its last benchmark. That one prints totals of the process as a result: dyno-goroutines,
// dyno-gc-cycles and dyno-gc-sec (CPU time of collecting without idle marking; from Go 1.20). If it
// does not build, LinkSurvey does what Link does, and adds a warning.
func (b *Builder) LinkSurvey(ctx context.Context, p *TestPackage) (path string, err error) {
	if strings.Contains(strings.Join(slices.Concat(p.goflags, p.src.flags), " "), "-overlay") {
		err = errors.New("the build has its own -overlay")
	} else {
		var flag string
		if flag, err = b.overlay(p.Dir, map[string]string{"survey": "package " + p.name + "\n" + surveySource}, "_test.go"); err == nil {
			path, err = b.goTest(ctx, p, nil, flag)
		}
	}
	if err == nil || ctx.Err() != nil {
		return path, err
	}
	path, lerr := b.Link(ctx, p, 0)
	if lerr == nil {
		p.Warnings.AddOf(dyno.WarnSurvey, p.ImportPath, "%s: its garbage collections and goroutines are not surveyed (the tests do not build with the survey benchmark: %s)",
			p.ImportPath, strings.ReplaceAll(firstMessage(err), b.dir+string(filepath.Separator), ""))
	}
	return path, lerr
}

// surveySource is the benchmark without its package clause, for Go 1.18, with names that collide
// with nothing. It prints its own result and skips, as package testing prints none where
// -test.bench has elements of sub-benchmarks. Goroutines that are about to end get 10 ms.
const surveySource = `
import (
	dynoFmt "fmt"
	dynoRuntime "runtime"
	dynoMetrics "runtime/metrics"
	dynoTesting "testing"
	dynoTime "time"
)

func BenchmarkDynoSurvey(b *dynoTesting.B) {
	s := []dynoMetrics.Sample{
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
	}
	dynoMetrics.Read(s)
	for i := 0; i < 10; i++ {
		dynoTime.Sleep(dynoTime.Millisecond)
	}
	dynoFmt.Printf("BenchmarkDynoSurvey\t1\t%d dyno-goroutines", dynoRuntime.NumGoroutine())
	if s[0].Value.Kind() == dynoMetrics.KindUint64 {
		dynoFmt.Printf("\t%d dyno-gc-cycles", s[0].Value.Uint64())
	}
	if s[1].Value.Kind() == dynoMetrics.KindFloat64 && s[2].Value.Kind() == dynoMetrics.KindFloat64 {
		dynoFmt.Printf("\t%g dyno-gc-sec", s[1].Value.Float64()-s[2].Value.Float64())
	}
	dynoFmt.Println()
	b.SkipNow()
}
`
