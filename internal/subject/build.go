// Package subject builds a [dyno.Subject], injects the probe, launches it, waits until it is ready
// and stops it. It also builds test binaries.
//
// It owns the private folder of builds, worktrees and module copies, and the source of the probe.
// It reads no metric, sends no load, and changes neither the user's tree nor the module cache.
// Package guard starts its programs: main must call [guard.Main] first.
package subject

import (
	"cmp"
	"context"
	"debug/buildinfo"
	_ "embed"
	"encoding/json"
	"fmt"
	"go/version"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject/gomod"
	"github.com/dynolab/dyno/internal/subject/guard"
	"github.com/dynolab/dyno/internal/subject/imprint"
	"github.com/dynolab/dyno/internal/subject/worktree"
)

// Built is an executable subject.
type Built struct {
	Path     string        // of the executable, absolute
	Go       string        // version of the toolchain that built it, such as "go1.26.8"; "" if unknown
	Rev      string        // commit, with "+dirty" if the tree has changes beside it, or module version; "" if neither
	Injected bool          // the probe is in it
	Sum      string        // of what is loaded of the executable, and of one that is Plantable or has a Layout of the same without: 16 hexadecimal digits (package imprint)
	Warnings dyno.Warnings // doubts about this build

	layout uint32 // dyno.Subject.Layout
}

// A Builder builds subjects, each only once. It must be closed.
type Builder struct {
	Tell func(step string) // what the go command does in a build: "compiling PACKAGE", "downloading MODULE VERSION"; nil: it is not reported

	dir   string      // private
	guard *guard.Tree // has no program: removes dir when dyno and all of the builder's commands have ended

	mu         sync.Mutex // one build at a time: each takes all CPUs
	built      map[string]*Built
	layouts    [2]uint32                // of the executables that are kept, the later one last
	copies     map[string]source        // of module versions
	deps       map[string]gomod.Taken   // other versions of dependencies
	commits    map[string]string        // by repository and revision
	trees      map[string]string        // worktrees, by repository, commit and what was prepared in them
	made       map[string]worktree.Made // of commits, by worktree
	overlays   map[string]string        // flags of go build that add files, by what makes them
	overlaying sync.Mutex
	lists      []string                // git's folders of worktrees
	tests      map[string]*TestPackage // by what makes them

	setters map[string][]dyno.Setter // that were found, by where and of what

	scratch atomic.Int64 // numbers names in dir
}

// NewBuilder makes a private folder below parent; "" means the system's for temporary files. Before,
// it collects what a dyno that was killed with its guards has left.
func NewBuilder(parent string) (*Builder, error) {
	guard.Collect()
	if parent == "" {
		parent = os.TempDir()
	}
	// go build -overlay ignores files in a folder reached through a link.
	parent, err := filepath.EvalSymlinks(parent)
	if err != nil {
		return nil, fmt.Errorf("make a directory for builds: %w", err)
	}
	if parent, err = filepath.Abs(parent); err != nil {
		return nil, err
	}
	b := &Builder{
		dir:   guard.TempName(parent),
		built: map[string]*Built{}, copies: map[string]source{}, deps: map[string]gomod.Taken{}, trees: map[string]string{}, commits: map[string]string{},
		tests: map[string]*TestPackage{}, made: map[string]worktree.Made{}, overlays: map[string]string{},
	}
	if b.guard, err = guard.Start(guard.Job{Scratch: []string{b.dir}}, guard.IO{}); err != nil {
		return nil, fmt.Errorf("make a directory for builds: %w", err)
	}
	if err := os.Mkdir(filepath.Join(b.dir, "tmp"), 0o700); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Close removes the worktrees and the private folder with the executables.
func (b *Builder) Close() error {
	b.guard.Stop(0)
	if b.guard.Broken != "" {
		guard.Collect()
		fmt.Fprintf(os.Stderr, "dyno: the supervisor of the builds %s; dyno now removes its files itself\n", b.guard.Broken)
	}
	for _, list := range b.lists {
		os.Remove(list) // if it is empty, as git does
	}
	return os.RemoveAll(b.dir) // what the guard could not remove
}

// Build returns the executable of s, and builds the same thing once only. A mistake that the user can
// correct in the plan, in what Start needs too, is a [*dyno.PlanError]. If s is to be Plantable and
// cannot be, the error is a [*PlantError].
//
// Note: the probe imports runtime/pprof, so the linker keeps heap profiling in all settings.
func (b *Builder) Build(ctx context.Context, s dyno.Subject) (*Built, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.build(ctx, s)
}

// Check finds the mistakes that Build would find before it compiles. So all subjects can be checked before
// the first is compiled.
func (b *Builder) Check(ctx context.Context, s dyno.Subject) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := expand(s, "127.0.0.1:1", "/dir", needless(s)); err != nil || s.Binary != "" {
		return err // what is compiled is looked at by Build, at once
	}
	src, err := b.find(ctx, s)
	if err != nil {
		return err
	}
	if _, err := b.goVersion(ctx, src, s); err != nil {
		return err
	}
	for _, flag := range s.Build {
		file, ok := strings.CutPrefix(strings.TrimLeft(flag, "-"), "pgo=")
		if !ok || file == "off" || file == "auto" {
			continue
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(src.dir, file)
		}
		if _, err := os.Stat(file); err != nil {
			return planErrorf("build flag %s: %v", flag, err)
		}
	}
	return nil
}

// build is Build for who holds mu.
func (b *Builder) build(ctx context.Context, s dyno.Subject) (*Built, error) {
	if _, err := expand(s, "127.0.0.1:1", "/dir", needless(s)); err != nil {
		return nil, err
	}
	if s.Binary != "" && s.Plantable {
		return nil, &PlantError{s.String(), "it is already compiled (consider: its package)"}
	}
	if s.Binary != "" {
		return given(s)
	}
	key := fmt.Sprintf("%q %q %q %t %t %d", append([]string{s.Dir, s.Package, s.Module, s.Rev, s.Go}, s.Build...), pairs(buildVariables(s.Env)), pairs(s.Deps), s.NoInject, s.Plantable, s.Layout)
	if built := b.built[key]; built != nil {
		return built, nil
	}
	b.keepLayout(s.Layout)
	src, err := b.find(ctx, s)
	if err != nil {
		return nil, err
	}
	gov, err := b.goVersion(ctx, src, s)
	if err != nil {
		return nil, err
	}
	if s.Layout != 0 && older(gov, "go1.23") {
		s.Layout = 0
		plain, err := b.build(ctx, s)
		if err != nil {
			return nil, err
		}
		fixed := *plain
		fixed.Warnings = slices.Clone(plain.Warnings)
		fixed.Warnings.Add(dyno.WarnLayout, "its functions have the same order in all blocks, as the linker of %s has no -randlayout (want Go 1.23)", gov)
		b.built[key] = &fixed
		return &fixed, nil
	}
	built := &Built{Go: gov, Rev: src.rev, Warnings: b.differs(src, s)}
	if s.Plantable {
		if err := b.plantable(ctx, src, s, gov); err != nil {
			return nil, err
		}
	}
	if !s.NoInject {
		if err := b.injected(ctx, src, s, built); err != nil {
			return nil, err
		}
	}
	if !built.Injected {
		if built.Path, err = b.compile(ctx, src, s, built.Go); err != nil {
			return nil, fmt.Errorf("build %s: %w", s.String(), ofToolchain(src, b.cured(err, s, src)))
		}
	}
	if built.Sum, err = b.sum(ctx, s, built.Path, src.dir); err != nil {
		return nil, err
	}
	b.built[key] = built
	built.layout = s.Layout
	return built, nil
}

// keepLayout removes the executables whose layout is neither this one nor the one before, as those of a block share theirs, and the launches of the
// one before may still end.
func (b *Builder) keepLayout(layout uint32) {
	if layout == 0 || layout == b.layouts[1] {
		return
	}
	b.layouts = [2]uint32{b.layouts[1], layout}
	for key, built := range b.built {
		if l := built.layout; l != 0 && l != b.layouts[0] && l != layout {
			os.RemoveAll(filepath.Dir(built.Path))
			delete(b.built, key)
		}
	}
}

// sum is Built.Sum of the executable of s, whose package is in dir.
func (b *Builder) sum(ctx context.Context, s dyno.Subject, path, dir string) (string, error) {
	if s.Plantable || s.Layout != 0 {
		s.Plantable, s.Layout = false, 0
		plain, err := b.build(ctx, s)
		if err != nil {
			return "", err
		}
		return plain.Sum, nil
	}
	return imprint.Of(path, b.madeOf(dir).Tree)
}

func (b *Builder) injected(ctx context.Context, src *source, s dyno.Subject, built *Built) error {
	why := ""
	if older(built.Go, "go1.22") {
		why = "it needs Go 1.22, not " + built.Go
	} else if strings.Contains(strings.Join(s.Build, " ")+" "+cmp.Or(src.env["GOFLAGS"], os.Getenv("GOFLAGS")), "-overlay") {
		why = "the build has its own -overlay"
	} else {
		flag, err := b.overlay(src.dir, map[string]string{"probe": probeText, "take": takeText, "cpu": cpuText, "ballast": ballastText}, ".go", nil)
		if err != nil {
			return fmt.Errorf("inject the probe: %w", err)
		}
		if built.Path, err = b.compile(ctx, src, s, built.Go, flag); err == nil {
			built.Injected = true
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		why = "the package does not build with it: " + strings.ReplaceAll(firstMessage(err), b.dir+string(filepath.Separator), "")
	}
	built.Warnings.Add(dyno.WarnNotInjected, "the probe was not injected (%s): measured from outside only", why)
	return nil
}

// older compares Go versions; a development version is older than none.
func older(v, than string) bool { return version.IsValid(v) && version.Compare(v, than) < 0 }

func (b *Builder) compile(ctx context.Context, src *source, s dyno.Subject, gov string, flags ...string) (string, error) {
	out := b.name("bin")
	if err := os.Mkdir(out, 0o700); err != nil {
		return "", err
	}
	args := []string{"build"}
	if b.Tell != nil {
		args = append(args, "-v")
	}
	if !older(gov, "go1.18") {
		// No VCS stamp: Built.Rev has it, and equal sources give equal bytes.
		args = append(args, "-buildvcs=false")
	}
	own := slices.Concat(src.flags, s.Build)
	if s.Layout != 0 {
		vars, err := b.goEnv(ctx, src, "GOFLAGS") // which may be in the go command's own file
		if err != nil {
			return "", err
		}
		own = joinLdflags("-randlayout="+strconv.FormatUint(uint64(s.Layout), 10), strings.Fields(vars[0]), own)
	}
	args = append(append(args, own...), flags...)
	args = append(args, "-o", out+string(filepath.Separator), ".")
	if _, err := b.command(ctx, src.dir, src.env, cmp.Or(src.tool, "go"), args...); err != nil {
		return "", err
	}
	files, err := os.ReadDir(out)
	if err != nil {
		return "", err
	}
	return filepath.Join(out, files[0].Name()), nil // of a main package there is one
}

func (b *Builder) name(prefix string) string {
	return filepath.Join(b.dir, prefix+strconv.FormatInt(b.scratch.Add(1), 10))
}

func executable(s dyno.Subject) (string, error) {
	path := s.Binary
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", &dyno.PlanError{Msg: fmt.Sprintf("binary %s: %v", s.Binary, err)}
	case info.IsDir():
		return "", &dyno.PlanError{Msg: fmt.Sprintf("binary %s is a directory (consider: package: %s)", s.Binary, s.Binary)}
	case info.Mode()&0o111 == 0 && filepath.Ext(path) != ".exe":
		return "", &dyno.PlanError{Msg: fmt.Sprintf("binary %s is not executable (consider: chmod +x %s)", s.Binary, s.Binary)}
	}
	return path, nil
}

func given(s dyno.Subject) (*Built, error) {
	path, err := executable(s)
	if err != nil {
		return nil, err
	}
	built := &Built{Path: path}
	if built.Sum, err = imprint.Of(path, ""); err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		built.Warnings.Add(dyno.WarnNotGo, "%s is not a Go executable: it has no GC trace", s.Binary)
		return built, nil
	}
	built.Go = info.GoVersion
	built.Rev = settingOf(info, "vcs.revision")
	if built.Rev != "" && settingOf(info, "vcs.modified") == "true" {
		built.Rev += "+dirty"
	}
	return built, nil
}

// settingOf returns what the build of an executable had for a key; "" for nothing.
func settingOf(info *buildinfo.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

var (
	//go:embed inject/probe.go
	probeText string
	//go:embed inject/take.go
	takeText string
	//go:embed inject/cpu.go
	cpuText string
	//go:embed inject/ballast.go
	ballastText string
)

// overlay returns the flag of go build that adds files to the package in dir, a path without
// symbolic links, and replaces others. texts are by a part of the file's name, which ends in suffix.
func (b *Builder) overlay(dir string, texts map[string]string, suffix string, others map[string]string) (flag string, err error) {
	b.overlaying.Lock()
	defer b.overlaying.Unlock()
	known := fmt.Sprintf("%q %q %q %q", dir, texts, suffix, others)
	if flag := b.overlays[known]; flag != "" {
		return flag, nil
	}
	folder := b.name("overlay")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	replace := map[string]string{}
	maps.Copy(replace, others)
	for part, text := range texts {
		name := "zz_dyno_" + part
		file := filepath.Join(folder, name+".go")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", err
		}
		for exists(filepath.Join(dir, name+suffix)) { // not over a file of the user's
			name += "_"
		}
		replace[filepath.Join(dir, name+suffix)] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", err
	}
	b.overlays[known] = "-overlay=" + file
	return b.overlays[known], nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
