package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan"
	"github.com/dynolab/dyno/internal/safe"
)

// spelled are the ways in which one text has a name and its value, or only a value.
var spelled = []*regexp.Regexp{
	regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@'"]*:(?P<password>[^\s/@'"]+)@`),
	regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://(?P<token>[^\s/:@'"]{16,})@`),
	regexp.MustCompile(`(?P<name>[\w.-]+)=(?P<value>[^&\s'"#;]+)`),
	regexp.MustCompile(`(?P<name>[\w-]+):\s*(?P<value>[^'"\n]+)`),
}

const (
	shortest = 6 // characters of a value that is hidden: a shorter one would be found everywhere

	hiddenForm = "redacted~%s~" // in place of a value; what URLs may have
)

var (
	scheme = regexp.MustCompile(`^(?:[A-Za-z]+)\s+(\S+)$`) // of an Authorization
	placed = regexp.MustCompile(`redacted~([A-Z0-9_]+)~`)
)

// A hider finds what looks like a credential in a run, and keeps it out of what is written.
type hider struct {
	names  map[string]string // by value
	levels []string          // which stay as they are: settings have their names
	short  []string          // names of values that are too short to be hidden
}

// hide returns nil if nothing is to be hidden. text is run.json.
func hide(text []byte) *strings.Replacer {
	var run struct {
		Plan    map[string]any `json:"plan"`
		Command []any          `json:"command"`
	}
	if json.Unmarshal(text, &run) != nil {
		return nil // nor can it be read
	}
	h := hider{names: map[string]string{}}
	h.find("", run.Plan)
	h.find("", run.Command)
	return h.replacer()
}

// Unhidden are the names in a plan that say that a value is secret, where the value has fewer than 6
// characters, so that the run directory keeps it as it is.
func Unhidden(e *dyno.Experiment) []string {
	text, err := json.Marshal(e)
	var plan map[string]any
	if err != nil || json.Unmarshal(text, &plan) != nil {
		return nil
	}
	h := hider{names: map[string]string{}}
	h.find("", plan)
	slices.Sort(h.short)
	return slices.Compact(h.short)
}

func (h *hider) find(key string, x any) {
	switch x := x.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			switch text, ok := x[k].(string); {
			case key == "capture" || key == "data":
			case k == "vary" || k == "settings":
				h.levels = append(h.levels, fmt.Sprint(x[k]))
			case ok && safe.Secret(k):
				h.take(k, text)
			default:
				h.find(k, x[k])
			}
		}
	case []any:
		last := ""
		for _, v := range x {
			text, ok := v.(string)
			if ok && strings.HasPrefix(last, "-") && !strings.Contains(last, "=") && safe.Secret(last) {
				h.take(strings.TrimLeft(last, "-"), text)
			}
			h.find(key, v)
			last = text
		}
	case string:
		for _, form := range spelled {
			for _, m := range form.FindAllStringSubmatch(x, -1) {
				if len(m) == 2 {
					h.take(form.SubexpNames()[1], m[1])
				} else if safe.Secret(m[1]) {
					h.take(m[1], m[2])
				}
			}
		}
	}
}

// take hides a value, unless it is a template, which has none yet.
func (h *hider) take(name, value string) {
	value = strings.TrimSpace(value)
	if m := scheme.FindStringSubmatch(value); m != nil {
		value = m[1]
	}
	if value != "" && len(value) < shortest {
		h.short = append(h.short, name)
	}
	if len(value) < shortest || strings.Contains(value, "{{") || strings.Contains(value, "redacted~") || h.names[value] != "" {
		return
	}
	name = strings.Trim(regexp.MustCompile(`[^A-Z0-9]+`).ReplaceAllString(strings.ToUpper(name), "_"), "_")
	taken := slices.Collect(maps.Values(h.names))
	for n, first := 2, name; slices.Contains(taken, name); n++ {
		name = fmt.Sprintf("%s_%d", first, n)
	}
	h.names[value] = name
}

func (h *hider) replacer() *strings.Replacer {
	with := map[string]string{}
	for value, name := range h.names {
		if !slices.ContainsFunc(h.levels, func(l string) bool { return strings.Contains(l, value) }) {
			with[value] = fmt.Sprintf(hiddenForm, name)
		}
	}
	return longestFirst(with)
}

func longestFirst(with map[string]string) *strings.Replacer {
	if len(with) == 0 {
		return nil
	}
	var pairs []string
	for _, old := range slices.SortedFunc(maps.Keys(with), func(a, b string) int { return len(b) - len(a) }) {
		pairs = append(pairs, old, with[old])
	}
	return strings.NewReplacer(pairs...)
}

// replaced replaces in the strings of a JSON text. Names of fields stay, those of counts by
// request and the like do not.
func replaced(text []byte, r *strings.Replacer) []byte {
	var out bytes.Buffer
	for len(text) > 0 {
		begin := bytes.IndexByte(text, '"')
		if begin < 0 {
			break
		}
		end := begin + 1
		for end < len(text) && text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(text))
		out.Write(text[:begin])
		quoted := text[begin:end]
		text = text[end:]
		var s string
		field := bytes.HasPrefix(bytes.TrimLeft(text, " \n"), []byte(":")) && !bytes.ContainsAny(quoted, " /?=")
		if !field && json.Unmarshal(quoted, &s) == nil {
			if with := r.Replace(s); with != s {
				enc := json.NewEncoder(&out)
				enc.SetEscapeHTML(false)
				enc.Encode(with) // a string has no error
				out.Truncate(out.Len() - 1)
				continue
			}
		}
		out.Write(quoted)
	}
	out.Write(text)
	return out.Bytes()
}

// Redacted is a plan as run directories have it: with a placeholder for each value that looks like
// a credential.
func Redacted(e *dyno.Experiment) *dyno.Experiment {
	text, err := runText(&Run{Schema: schema, Plan: e})
	if err != nil {
		return e
	}
	r := hide(text)
	if r == nil {
		return e
	}
	if run, err := parseRun(filepath.Join(e.Subject.Dir, runFile), replaced(text, r)); err == nil {
		return run.Plan
	}
	return e
}

// Hidden are the names of the values that the plan has placeholders for.
func (d *Dir) Hidden() []string { return placeholders(d.Run.Plan) }

func placeholders(e *dyno.Experiment) (names []string) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil
	}
	for _, m := range placed.FindAllSubmatch(text, -1) {
		if name := string(m[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Reveal returns the plan with values, by name, in place of its placeholders. They stay hidden in
// the files of the run.
func (d *Dir) Reveal(values map[string]string) (*dyno.Experiment, error) {
	if len(values) == 0 {
		return d.Run.Plan, nil
	}
	hidden := map[string]string{}
	for name, value := range values {
		if len(value) >= shortest {
			hidden[value] = fmt.Sprintf(hiddenForm, name)
		}
	}
	d.hidden = longestFirst(hidden)
	e, err := revealed(filepath.Join(d.Path, runFile), d.Run.Plan, values)
	if err == nil {
		e.Shuffled = d.Run.Plan.Shuffled
	}
	return e, err
}

// revealed is the plan of a file with values, by name, in place of its placeholders.
func revealed(file string, e *dyno.Experiment, values map[string]string) (*dyno.Experiment, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	shown := map[string]string{}
	for name, value := range values {
		shown[fmt.Sprintf(hiddenForm, name)] = value
	}
	return plan.Parse(file, replaced(text, longestFirst(shown)))
}
