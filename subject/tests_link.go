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
	"sync"
)

// keptSeeds is how many binaries of one package with different seeds there are on
// disk, some 6 MB each: one that runs, one that is linked meanwhile, and one more.
const keptSeeds = 3

// layoutSince is the first Go version whose linker has -randlayout.
const layoutSince = "go1.23"

// A testBinary is the test binary of a package as one or more settings have it,
// with its functions in various orders.
type testBinary struct {
	flags   []string // of the build
	goflags []string // from the variable GOFLAGS

	mu    sync.Mutex
	links map[linkKey]*link
	seeds []uint32 // of links, in the order in which they were asked for; without 0
	fixed bool     // the linker cannot change the order
}

type linkKey struct {
	seed   uint32
	survey bool
}

// A link is a binary, or the making of it.
type link struct {
	done chan struct{}
	path string
	err  error
}

// Link builds the test binary of p with its functions in an order that the seed
// determines, the same for all settings; 0 is the linker's own order. Settings
// share a binary if they differ in nothing that matters to the go command.
//
// A binary that exists is not built again; the last keptSeeds of them and that of
// seed 0 are kept, the others removed. Two links may run at the same time. Before
// Go 1.23 the linker cannot do it: all seeds give the same binary, and p.Warnings
// says so. An error holds what the compiler said.
func (b *Builder) Link(ctx context.Context, p *TestPackage, seed uint32) (path string, err error) {
	if p.binary.isFixed() {
		seed = 0
	}
	path, err = p.binary.once(ctx, linkKey{seed: seed}, func() (string, error) {
		var layout []string
		if seed != 0 {
			layout = []string{"-randlayout=" + strconv.FormatUint(uint64(seed), 10)}
		}
		return b.goTest(ctx, p, layout)
	})
	var failed *commandError
	if seed != 0 && errors.As(err, &failed) && strings.Contains(failed.stderr, "not defined: -randlayout") {
		p.binary.mu.Lock()
		p.binary.fixed = true
		p.binary.mu.Unlock()
		return b.Link(ctx, p, 0)
	}
	if err != nil {
		return "", fmt.Errorf("build the tests of %s: %w", p.ImportPath, err)
	}
	if p.binary.isFixed() && !older(p.Go, layoutSince) {
		p.warn(p.fixedLayout("is not known to the linker of " + p.Go))
	}
	return path, nil
}

func (p *TestPackage) fixedLayout(why string) string {
	return p.ImportPath + ": its functions are in the same order in all blocks, as -randlayout " + why
}

// warn adds a warning, once.
func (p *TestPackage) warn(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.Warnings, text) {
		p.Warnings = append(p.Warnings, text)
	}
}

func (t *testBinary) isFixed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fixed
}

// once makes a binary that does not exist. Who asks for one that is being made
// waits for it.
func (t *testBinary) once(ctx context.Context, key linkKey, build func() (string, error)) (string, error) {
	t.mu.Lock()
	for l := t.links[key]; l != nil; l = t.links[key] {
		t.mu.Unlock()
		select {
		case <-l.done:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if l.err == nil || !errors.Is(l.err, context.Canceled) && !errors.Is(l.err, context.DeadlineExceeded) {
			return l.path, l.err
		}
		t.mu.Lock() // it was stopped by the other's context
	}
	l := &link{done: make(chan struct{})}
	t.links[key] = l
	t.forget(key)
	t.mu.Unlock()
	l.path, l.err = build()
	if l.err != nil {
		t.mu.Lock()
		delete(t.links, key)
		t.seeds = slices.DeleteFunc(t.seeds, func(s uint32) bool { return s == key.seed })
		t.mu.Unlock()
	}
	close(l.done)
	return l.path, l.err
}

// forget removes binaries of old seeds to make room for one.
func (t *testBinary) forget(key linkKey) {
	if key.survey || key.seed == 0 {
		return
	}
	t.seeds = append(t.seeds, key.seed)
	for i := 0; len(t.seeds) > keptSeeds && i < len(t.seeds)-keptSeeds; {
		old := linkKey{seed: t.seeds[i]}
		if l := t.links[old]; l != nil {
			select {
			case <-l.done:
				os.Remove(l.path)
			default:
				i++ // not made yet
				continue
			}
		}
		delete(t.links, old)
		t.seeds = slices.Delete(t.seeds, i, i+1)
	}
}

// goTest runs go test -c and returns the executable. Flags come after the user's.
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
	args = append(append(args, joinLdflags(ours, p.binary.goflags, p.binary.flags)...), flags...)
	if _, err := b.command(ctx, p.src.dir, p.src.env, "go", append(args, p.ImportPath)...); err != nil {
		return "", err
	}
	if !exists(out) {
		return "", fmt.Errorf("go %s made no file (consider: a package with test files)", strings.Join(args, " "))
	}
	return out, nil
}

// joinLdflags returns the flags of a build with ours added to each -ldflags, as of
// several that match a package only the last one counts; one on the command line
// hides that of GOFLAGS. A value is "flags" or "pattern=flags"; see go help build.
func joinLdflags(ours string, goflags, flags []string) []string {
	joined := []string{"-ldflags=" + ours}
	add := func(value string) {
		value = strings.TrimSpace(value)
		pattern, rest, ok := strings.Cut(value, "=")
		switch {
		case value == "":
			joined = append(joined, "-ldflags="+ours)
		case strings.HasPrefix(value, "-") || !ok:
			joined = append(joined, "-ldflags="+ours+" "+value)
		default:
			joined = append(joined, "-ldflags="+pattern+"="+ours+" "+rest)
		}
	}
	for _, f := range goflags {
		if value, ok := ldflags(f); ok {
			add(value)
		}
	}
	for i := 0; i < len(flags); i++ {
		value, ok := ldflags(flags[i])
		if name := strings.TrimPrefix(flags[i], "-"); !ok && (name == "ldflags" || name == "-ldflags") && i+1 < len(flags) {
			i++
			value, ok = flags[i], true
		}
		if ok {
			add(value)
		} else {
			joined = append(joined, flags[i])
		}
	}
	return joined
}

// ldflags is the value of a flag -ldflags=.
func ldflags(flag string) (value string, ok bool) {
	name, value, ok := strings.Cut(flag, "=")
	return value, ok && (name == "-ldflags" || name == "--ldflags")
}
