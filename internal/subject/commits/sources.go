package commits

import (
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// sources are what Go files say, of all versions that a history has of them.
type sources struct {
	modules map[string]map[string]bool // folders by the path of their module; several may have one, of which go.mod takes one
	imports map[string]map[string]bool // import paths by folder
	embeds  map[string]bool            // folders with //go:embed
	cgo     bool
}

// read parses the Go files of the good end, and those of each commit that it changed.
func read(ctx context.Context, git Git, h *History) (*sources, error) {
	s := &sources{modules: map[string]map[string]bool{}, imports: map[string]map[string]bool{}, embeds: map[string]bool{}}
	names, err := git(ctx, h.Top, "", "ls-tree", "-r", "-z", "--name-only", "--full-tree", h.Good.ID)
	if err != nil {
		return nil, err
	}
	var wanted []string // COMMIT:FILE
	var files []string
	want := func(commit, file string) {
		base := path.Base(file)
		if base == "go.mod" || strings.HasSuffix(base, ".go") && !strings.HasSuffix(base, "_test.go") && !strings.ContainsRune(file, '\n') {
			wanted, files = append(wanted, commit+":"+file), append(files, file)
		}
	}
	for name := range strings.SplitSeq(names, "\x00") {
		want(h.Good.ID, name)
	}
	for _, c := range h.Commits {
		for _, file := range c.Files {
			want(c.ID, file)
		}
	}
	out, err := git(ctx, h.Top, strings.Join(wanted, "\n")+"\n", "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		line, rest, ok := strings.Cut(out, "\n")
		if !ok {
			return nil, fmt.Errorf("git cat-file ended before %s", file)
		}
		out = rest
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[1] != "blob" { // "missing": the commit removed it
			if len(fields) == 3 && fields[1] != "missing" {
				n, err := strconv.Atoi(fields[2])
				if err != nil || n+1 > len(out) {
					return nil, fmt.Errorf("git cat-file: %q", line)
				}
				out = out[n+1:]
			}
			continue
		}
		n, err := strconv.Atoi(fields[2])
		if err != nil || n+1 > len(out) {
			return nil, fmt.Errorf("git cat-file: %q", line)
		}
		s.add(file, out[:n])
		out = out[n+1:]
	}
	return s, nil
}

func (s *sources) add(file, text string) {
	dir := path.Dir(file)
	if path.Base(file) == "go.mod" {
		for line := range strings.Lines(text) {
			if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "module" {
				module := strings.Trim(fields[1], `"`)
				if s.modules[module] == nil {
					s.modules[module] = map[string]bool{}
				}
				s.modules[module][dir] = true
			}
		}
		return
	}
	s.embeds[dir] = s.embeds[dir] || strings.Contains(text, "//go:embed")
	f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
	if err != nil && f == nil {
		return
	}
	if s.imports[dir] == nil {
		s.imports[dir] = map[string]bool{}
	}
	for _, spec := range f.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			s.imports[dir][p] = true
			s.cgo = s.cgo || p == "C"
		}
	}
}

// reached are the folders of the repository whose packages a package imports in any version, itself among them.
func (s *sources) reached(pkg string) map[string]bool {
	in := map[string]bool{}
	todo := []string{pkg}
	for len(todo) > 0 {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if in[dir] {
			continue
		}
		in[dir] = true
		for p := range s.imports[dir] {
			todo = append(todo, s.folders(p)...)
		}
	}
	return in
}

// folders are where a package of the repository may be.
func (s *sources) folders(importPath string) (dirs []string) {
	best := ""
	for module := range s.modules {
		if (importPath == module || strings.HasPrefix(importPath, module+"/")) && len(module) >= len(best) {
			best = module
		}
	}
	for dir := range s.modules[best] {
		dirs = append(dirs, path.Join(dir, strings.TrimPrefix(importPath, best)))
	}
	return dirs
}
