package subject

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// Sources are the folders of the packages of s that are not of the standard library, by what stands for
// them in an executable that was built with -trimpath: the import path, or MODULE@VERSION/… of another
// module (cmd/go/internal/work, trimpath). It is empty if they are not known.
func (b *Builder) Sources(ctx context.Context, s dyno.Subject) map[string]string {
	folders := map[string]string{}
	if !s.Source() {
		return folders
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	src, err := b.find(ctx, s)
	if err != nil {
		return folders
	}
	const format = `{{if not .Standard}}{{.Dir}}	{{.ImportPath}}	{{with .Module}}{{.Path}}	{{.Version}}{{else}}	{{end}}{{end}}`
	args := slices.Concat([]string{"list", "-e", "-deps"}, src.flags, s.Build, []string{"-f", format, "."})
	list, _ := b.command(ctx, src.dir, src.env, cmp.Or(src.tool, "go"), args...)
	for line := range strings.Lines(list) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 || f[0] == "" {
			continue
		}
		folders[f[1]] = f[0]
		if rest, ok := strings.CutPrefix(f[1], f[2]); ok && f[3] != "" {
			folders[f[2]+"@"+f[3]+rest] = f[0]
		}
	}
	return folders
}

// Go runs the go command as a build of s would: with its toolchain and environment, in the folder of its package, and go list with
// its flags, which are those of its dependencies' versions, too. It returns the standard output.
func (b *Builder) Go(ctx context.Context, s dyno.Subject, args ...string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	src, err := b.find(ctx, s)
	if err != nil {
		return "", err
	}
	if args[0] == "list" {
		args = slices.Concat(args[:1], src.flags, args[1:])
	}
	return b.command(ctx, src.dir, src.env, "go", args...)
}
