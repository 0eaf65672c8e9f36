// Package gomod brings published modules to disk, and builds a module with other versions of its dependencies than
// its go.mod says. It changes neither the user's files nor what the module cache has.
package gomod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/dynolab/dyno"
)

// A Maker works by the go command.
type Maker struct {
	Go    func(ctx context.Context, dir string, env map[string]string, args ...string) (stdout string, err error)
	First func(error) string // returns the first message of a command that failed
}

func mistakef(format string, args ...any) error {
	return &dyno.PlanError{Msg: fmt.Sprintf(format, args...)}
}

// alone keeps a workspace, and flags of the user's environment, out of commands that are not about the user's module.
var alone = map[string]string{"GOWORK": "off", "GOFLAGS": "-mod=mod"}

// A Copy is a published module on disk.
type Copy struct {
	Root    string // its folder
	Dir     string // that of the package which was asked for
	Version string
}

// Copy copies the module of a package out of the module cache, where go refuses overlays, into the folder scratch,
// which it makes. spec is PACKAGE@VERSION, with any version query of the go command.
func (m *Maker) Copy(ctx context.Context, spec, scratch string) (c Copy, err error) {
	pkg, query, ok := strings.Cut(spec, "@")
	if !ok || pkg == "" || query == "" {
		return c, mistakef("module %s has no version (want for example %s@latest)", spec, pkg)
	}
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return c, err
	}
	// So that no go.mod above the folder counts.
	if err := os.WriteFile(filepath.Join(scratch, "go.mod"), []byte("module dyno.invalid/scratch\n"), 0o600); err != nil {
		return c, err
	}
	d, err := m.download(ctx, scratch, pkg, query)
	if err == nil {
		err = m.checkReplaced(ctx, d)
	}
	if err != nil {
		return c, err
	}
	c = Copy{Root: filepath.Join(scratch, "src"), Version: d.Version}
	c.Dir = filepath.Join(c.Root, strings.TrimPrefix(pkg, d.Path))
	if err := os.CopyFS(c.Root, os.DirFS(d.Dir)); err != nil { // files become writable
		return c, fmt.Errorf("copy module %s: %w", d.Path, err)
	}
	if mod := filepath.Join(c.Root, "go.mod"); !exists(mod) { // it is older than modules
		if err := os.WriteFile(mod, []byte("module "+d.Path+"\n"), 0o600); err != nil {
			return c, err
		}
	}
	return c, nil
}

// downloaded is the output of go mod download -json.
type downloaded struct{ Path, Version, Dir, Error string }

// download finds the module with the longest path that has the package; see
// https://go.dev/ref/mod#resolve-pkg-mod.
func (m *Maker) download(ctx context.Context, dir, pkg, query string) (*downloaded, error) {
	var first error
	for p := pkg; p != "." && strings.Contains(p, "."); p = path.Dir(p) {
		out, err := m.Go(ctx, dir, alone, "mod", "download", "-json", p+"@"+query)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var d downloaded
		if jerr := json.Unmarshal([]byte(out), &d); jerr != nil {
			return nil, fmt.Errorf("download %s@%s: %w", p, query, errors.Join(err, jerr))
		}
		if d.Error == "" && exists(filepath.Join(d.Dir, strings.TrimPrefix(pkg, p))) {
			return &d, nil
		}
		if first == nil && d.Error != "" {
			first = errors.New(d.Error)
		}
	}
	return nil, fmt.Errorf("no module has the package %s at %s: %v", pkg, query, first)
}

// checkReplaced returns an error if the module takes others from directories beside its own, which are
// not in what is downloaded. The go command refuses to install such a module, too.
func (m *Maker) checkReplaced(ctx context.Context, d *downloaded) error {
	file := filepath.Join(d.Dir, "go.mod")
	if !exists(file) {
		return nil
	}
	mod, err := m.read(ctx, d.Dir, file)
	if err != nil {
		return fmt.Errorf("read go.mod of %s: %w", d.Path, err)
	}
	for _, r := range mod.Replace {
		if r.New.Version == "" { // as only directories have none
			return mistakef("module %s@%s replaces %s by its directory %s, which is not published (consider: clone its repository, and run dyno there)",
				d.Path, d.Version, r.Old.Path, r.New.Path)
		}
	}
	return nil
}

// A modFile is the output of go mod edit -json, as far as it is wanted.
type modFile struct {
	Go      string
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

func (m *Maker) read(ctx context.Context, dir, file string) (mod modFile, err error) {
	out, err := m.Go(ctx, dir, alone, "mod", "edit", "-json", file)
	if err == nil {
		err = json.Unmarshal([]byte(out), &mod)
	}
	return mod, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
