package pprofpage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/google/pprof/profile"
)

// perRequest reports whether a kind of profile counts what grows with requests,
// rather than a state.
func perRequest(kind string) bool { return kind != "goroutine" }

// comparable returns copies of profiles that are safe to show, with their title: one
// as it is, or two per million requests, so that a setting that answered more of them
// does not look worse.
func comparable(kind string, of Sum, base *Sum) (shown, from *profile.Profile, title string, err error) {
	shown, title = clean(of.Profile), label(of.Setting)
	if base != nil {
		from = clean(base.Profile)
		title += " against " + label(base.Setting)
		if perRequest(kind) {
			title += ", per million requests"
			for _, x := range []struct {
				Sum
				clean *profile.Profile
			}{{of, shown}, {*base, from}} {
				if x.Requests <= 0 {
					return nil, nil, "", fmt.Errorf("compare the %s profiles of %s: it is not known how many requests those of %s are of", kind, label(of.Setting), label(x.Setting))
				}
				x.clean.Scale(1e6 / float64(x.Requests))
			}
		}
		entitle(from, title)
	}
	entitle(shown, title)
	return shown, from, title, nil
}

// entitle gives a profile the title of its pages, where else the name of the
// program is.
func entitle(p *profile.Profile, title string) {
	title = unquoted(strings.ReplaceAll(title, "/", "∕")) // pprof takes the last part of a path
	m := &profile.Mapping{ID: 1, File: title, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
	p.Mapping = []*profile.Mapping{m}
	for _, l := range p.Location {
		l.Mapping = m
	}
}

const (
	mostFrames = 1000    // of a stack, from the leaf; Go has 128 at most
	mostInline = 100     // functions in a place of a stack, each inlined into the next
	mostSource = 4 << 20 // bytes of a file
)

// mostName is how many characters of a name are shown.
const mostName = 2000

// clean copies a profile. What a subject may have put into it that is no name is
// left out, and files that are no source are not named, as pprof shows what is in
// the files that a profile names.
func clean(p *profile.Profile) *profile.Profile {
	p = p.Copy()
	p.DocURL, p.Comments = "", nil
	files := map[string]string{}
	for _, f := range p.Function {
		f.Name, f.SystemName = printable(f.Name), printable(f.SystemName)
		name, ok := files[f.Filename]
		if !ok {
			name = sourceOf(printable(f.Filename))
			files[f.Filename] = name
		}
		f.Filename = name
	}
	for _, l := range p.Location {
		l.Line = l.Line[:min(len(l.Line), mostInline)]
	}
	for _, t := range append(slices.Clone(p.SampleType), p.PeriodType) {
		if t != nil {
			t.Type, t.Unit = unquoted(t.Type), unquoted(t.Unit)
		}
	}
	for _, s := range p.Sample {
		s.Location = s.Location[:min(len(s.Location), mostFrames)]
		cleanLabels(s)
	}
	return p
}

func cleanLabels(s *profile.Sample) {
	text, numbers, units := s.Label, s.NumLabel, s.NumUnit
	s.Label, s.NumLabel, s.NumUnit = map[string][]string{}, map[string][]int64{}, map[string][]string{}
	for key, values := range text {
		for i := range values {
			values[i] = unquoted(values[i])
		}
		if key = unquoted(key); key != "pprof::base" { // with that pprof marks what it compares with
			s.Label[key] = values
		}
	}
	for key, values := range numbers {
		of := units[key]
		for i := range of {
			of[i] = unquoted(of[i])
		}
		key = unquoted(key)
		s.NumLabel[key], s.NumUnit[key] = values, of
	}
}

// unquoted is printable without what pprof does not escape in titles, labels and
// units when it writes a graph for dot.
func unquoted(s string) string {
	return strings.NewReplacer(`"`, "'", `\`, "∖").Replace(printable(s))
}

// printable is a name without what no editor would show, such as control
// characters and those that turn the direction of writing.
func printable(s string) string {
	n := 0
	return strings.Map(func(r rune) rune {
		if n++; n > mostName {
			return -1
		}
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '�'
		}
		return r
	}, s)
}

// sourceOf is the name of a file as pprof may have it, which shows lines of what it
// finds by that name: a source of a size that sources have, at a path that leads to
// one, too, if it is a link; or nothing on this machine. Names without a root, as
// -trimpath leaves them, would be looked for in folders where they do not belong,
// and what is found there by luck is not shown either.
func sourceOf(name string) string {
	if !isSource(name) || strings.Contains(name, "..") || strings.HasPrefix(name, "/proc/") || strings.HasPrefix(name, noFolder) {
		return "" // also those of which pprof takes a part away
	}
	path := name
	if !filepath.IsAbs(name) {
		path = string(filepath.Separator) + name
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return name // nothing to be shown
	}
	info, err := os.Stat(path)
	if err != nil || !filepath.IsAbs(name) || !isSource(path) || !info.Mode().IsRegular() || info.Size() > mostSource {
		return ""
	}
	return path
}

// isSource reports whether a file's name is that of a source of a Go program.
func isSource(name string) bool {
	return name == "<autogenerated>" ||
		slices.Contains([]string{".go", ".s", ".S", ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".m", ".rs", ".y", ".rl", ".l", ".re"}, filepath.Ext(name))
}
