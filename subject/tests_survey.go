package subject

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// LinkSurvey builds the test binary of p, in the linker's own order, with BenchmarkDynoSurvey as
// its last benchmark. That one measures nothing and prints totals of the process as a result:
// dyno-goroutines, dyno-gc-cycles and dyno-gc-sec (CPU time of collecting without idle marking;
// from Go 1.20). Subtract those of a process where it ran alone.
//
// If that does not build, LinkSurvey does what Link does, and adds a warning.
func (b *Builder) LinkSurvey(ctx context.Context, p *TestPackage) (path string, err error) {
	if strings.Contains(strings.Join(slices.Concat(p.goflags, p.src.flags), " "), "-overlay") {
		err = errors.New("the build has an -overlay of its own")
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
		p.Warnings.AddOf(dyno.WarnSurvey, p.ImportPath, "%s: its garbage collections and goroutines are not surveyed (the tests do not build with the benchmark for it: %s)",
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
