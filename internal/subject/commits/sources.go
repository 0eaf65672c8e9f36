package commits

import (
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// sources are what Go files say, of all versions that a history has of them.
type sources struct {
	modules  map[string]map[string]bool // folders by the path of their module, or of one that they replace
	imports  map[string]map[string]bool // import paths by folder
	embeds   map[string]bool            // folders with //go:embed
	unparsed map[string]bool            // folders with a file that is no Go
	includes bool                       // there is C or assembly
	unknown  bool                       // there is what is not followed, so that any file may be part of any program
}

// read parses the Go files of the good end, and those of each commit that it changed.
func read(ctx context.Context, git Git, h *History) (*sources, error) {
	s := &sources{modules: map[string]map[string]bool{}, imports: map[string]map[string]bool{}, embeds: map[string]bool{}, unparsed: map[string]bool{}}
	tree, err := git(ctx, h.Top, "", "ls-tree", "-r", "-z", "--full-tree", h.Good.ID)
	if err != nil {
		return nil, err
	}
	var wanted []string // COMMIT:FILE
	var files []string
	want := func(commit, file string) {
		base := path.Base(file)
		s.unknown = s.unknown || strings.ContainsRune(file, '\n') // which git cat-file --batch cannot be asked for
		s.includes = s.includes || slices.Contains([]string{".s", ".S", ".sx"}, path.Ext(base))
		if base == "go.mod" || base == "go.work" || strings.HasSuffix(base, ".go") && !strings.HasSuffix(base, "_test.go") {
			wanted, files = append(wanted, commit+":"+file), append(files, file)
		}
	}
	for entry := range strings.SplitSeq(tree, "\x00") {
		about, name, ok := strings.Cut(entry, "\t")
		if ok && strings.HasPrefix(about, "120000") {
			s.unknown = true
		}
		if ok && !strings.HasPrefix(about, "160000") {
			want(h.Good.ID, name)
		}
	}
	for _, c := range h.Commits {
		s.unknown = s.unknown || c.links
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
		if strings.HasSuffix(line, " missing") { // the commit removed it
			continue
		}
		n, err := strconv.Atoi(line[strings.LastIndexByte(line, ' ')+1:])
		if err != nil || n+1 > len(out) {
			return nil, fmt.Errorf("git cat-file: %q", line)
		}
		if strings.Contains(line, " blob ") {
			s.add(file, out[:n])
		}
		out = out[n+1:]
	}
	return s, nil
}

func (s *sources) add(file, text string) {
	dir := path.Dir(file)
	if base := path.Base(file); base == "go.mod" || base == "go.work" {
		s.addModule(dir, base, text)
		return
	}
	s.embeds[dir] = s.embeds[dir] || strings.Contains(text, "//go:embed")
	f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
	if err != nil {
		s.unparsed[dir] = true
	}
	if f == nil {
		return
	}
	if s.imports[dir] == nil {
		s.imports[dir] = map[string]bool{}
	}
	for _, spec := range f.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			s.imports[dir][p] = true
			s.includes = s.includes || p == "C"
		}
	}
}

// addModule reads the path of a module, and what is replaced by folders: https://go.dev/ref/mod#go-mod-file-grammar.
func (s *sources) addModule(dir, base, text string) {
	put := func(module, at string) {
		if s.modules[module] == nil {
			s.modules[module] = map[string]bool{}
		}
		s.modules[module][at] = true
	}
	found, next := false, false
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		fields := strings.Fields(strings.NewReplacer("(", " ( ", ")", " ) ", `"`, "", "`", "").Replace(line))
		for i, f := range fields {
			switch {
			case f == "module" && i == 0:
				next = true
			case next && f != "(":
				put(f, dir)
				found, next = true, false
			case f == "=>" && i > 0 && i+1 < len(fields) && strings.HasPrefix(fields[i+1], "."):
				from := fields[0]
				if from == "replace" && i > 1 {
					from = fields[1]
				}
				put(from, path.Join(dir, fields[i+1]))
			}
		}
	}
	s.unknown = s.unknown || base == "go.mod" && !found
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

// folders are where a package of the repository may be. All modules count whose path it begins with: which one it is of differs from commit
// to commit.
func (s *sources) folders(importPath string) (dirs []string) {
	for module, at := range s.modules {
		if importPath != module && !strings.HasPrefix(importPath, module+"/") {
			continue
		}
		for dir := range at {
			dirs = append(dirs, path.Join(dir, strings.TrimPrefix(importPath, module)))
		}
	}
	return dirs
}
