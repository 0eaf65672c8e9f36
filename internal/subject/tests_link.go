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
//
// The binary has a test of dyno's beside the user's: see package driver.
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
func (b *Builder) goTest(ctx context.Context, p *TestPackage, layout []string) (string, error) {
	driver, err := b.driver(p)
	if err != nil {
		return "", err
	}
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
	args = append(append(args, joinLdflags(ours, p.goflags, p.src.flags)...), driver)
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
