package web

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostShort is how many characters of a name are shown in a list.
const mostShort = 300

// short is text of a run for a list, which one long name is not to fill: without
// control characters, and without those that turn the direction of what follows.
func short(s string) string {
	cut := ""
	if len(s) > mostShort*utf8.UTFMax {
		s, cut = s[:mostShort*utf8.UTFMax], "…"
	}
	n := 0
	s = strings.Map(func(r rune) rune {
		switch n++; {
		case n > mostShort:
			cut = "…"
			return -1
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029', r == '\ufeff':
			return '·'
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	return s + cut
}

// distinct is short, but of two texts the same only if these are.
func distinct(s string) string {
	cut := short(s)
	if cut == s {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return cut + " (" + hex.EncodeToString(sum[:4]) + ")"
}

// tame shortens what a run says of itself, so that it fills no list. Filters
// compare what is shown, and what is not shown is not kept.
func (e *entry) tame() {
	p, h := &e.Plan.Subject, &e.Run.Host
	for _, s := range []*string{
		&e.Plan.Name, &e.Ran, &p.Package, &p.Module, &p.Binary, &p.URL, &p.Process, &p.Rev,
		&e.Run.Dyno, &h.Name, &h.OS, &h.Arch, &h.CPU, &h.Kernel, &h.Go,
	} {
		*s = short(*s)
	}
	for i, s := range e.Run.Settings {
		e.Run.Settings[i] = distinct(s)
	}
	for what, text := range e.Conditions {
		e.Conditions[what] = distinct(text)
	}
	e.Run.Command, e.Plan.Load, e.Plan.Limits = nil, nil, nil
	p.Args, p.Env, p.Arg, p.Build = nil, nil, nil, nil
}

// tame does so of a summary.
func (s *summary) tame() {
	for i := range s.Metrics {
		s.Metrics[i].Help = short(s.Metrics[i].Help)
	}
	for i := range s.Settings {
		s.Settings[i].Setting = distinct(s.Settings[i].Setting)
	}
}
