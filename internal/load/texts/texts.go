// Package texts has the templates of plans: texts with {{.NAME}}, {{counter}}, {{uuid}} and {{random LO HI}},
// and the variables of each client that they render. It has the standard library only, as programs that dyno
// builds use it, too.
package texts

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Literal returns the template of a text.
func Literal(s string) string { return strings.ReplaceAll(s, "{{", `{{"{{"}}`) }

// Use matches an expression that would have a value if it stood in a template.
var Use = regexp.MustCompile(`\{\{ *(\.[A-Za-z_][A-Za-z0-9_.]*|counter|uuid|random +\S+ +\S+) *\}\}`)

// A Text is a compiled template. Rendering it allocates nothing.
type Text []part

// A part is a literal, or appends a value that varies.
type part struct {
	literal string
	value   func(dst []byte, v *Vars) ([]byte, error) // nil: the part is the literal
}

// Parse compiles a template; what names it in errors. It finds syntax errors,
// unknown variables (an *UnknownError) and functions, and wrong arguments.
func Parse(what, s string, known *Names) (Text, error) {
	var t Text
	for rest := s; rest != ""; {
		before, action, ok := strings.Cut(rest, "{{")
		if t = t.add(part{literal: before}); !ok {
			break
		}
		p, after, err := known.parseAction(action)
		if err != nil {
			return nil, known.explain(fmt.Errorf("%s %q: %w", what, Shorten(s), err))
		}
		t, rest = t.add(p), after
	}
	return t, nil
}

// Action compiles one action of a text: what follows two opening braces. It returns its value, or that this
// varies, and the text after the closing braces.
func (k *Names) Action(s string) (value string, varies bool, rest string, err error) {
	p, rest, err := k.parseAction(s)
	return p.literal, p.value != nil, rest, k.explain(err)
}

// explain adds what is known to the error of an unknown name.
func (k *Names) explain(err error) error {
	if errors.As(err, new(*UnknownError)) {
		err = fmt.Errorf("%w (known: %s)", err, k.list())
	}
	return err
}

// add joins adjacent literals, so that a constant text is one part.
func (t Text) add(p part) Text {
	last := len(t) - 1
	switch {
	case p.value == nil && p.literal == "":
		return t
	case p.value == nil && last >= 0 && t[last].value == nil:
		t[last].literal += p.literal
		return t
	}
	return append(t, p)
}

// parseAction compiles what follows two opening braces and returns the text after
// the closing ones.
func (k *Names) parseAction(s string) (p part, rest string, err error) {
	if rest, ok := strings.CutPrefix(s, `"{{"}}`); ok {
		return part{literal: "{{"}, rest, nil
	}
	inside, rest, ok := strings.Cut(s, "}}")
	if !ok {
		return p, "", fmt.Errorf(`%q is not closed (want }}; consider: {{"{{"}} to send two braces)`, Shorten("{{"+s))
	}
	name, after, _ := strings.Cut(strings.TrimSpace(inside), " ")
	args := strings.Fields(after)
	switch {
	case strings.HasPrefix(name, ".") && len(args) == 0:
		p, err = k.parseVariable(name[1:])
	case name == "counter" && len(args) == 0:
		p.value = func(dst []byte, v *Vars) ([]byte, error) {
			return strconv.AppendInt(dst, v.counter.Next(), 10), nil
		}
	case name == "uuid" && len(args) == 0:
		p.value = func(dst []byte, v *Vars) ([]byte, error) { return v.appendUUID(dst), nil }
	case name == "random" && len(args) == 2:
		p, err = k.parseRandom(args)
	default:
		err = fmt.Errorf("{{%s}} is neither a variable nor a function call; templates have no conditions, loops or pipelines "+
			"(want {{.NAME}}, {{counter}}, {{uuid}} or {{random LO HI}}; consider: a column of data, or one step for each case)", Shorten(inside))
	}
	return p, rest, err
}

// parseRandom compiles a call of random with two whole numbers, each of which may be
// an arg.
func (k *Names) parseRandom(bounds []string) (p part, err error) {
	var limits [2]int
	for i, word := range bounds {
		if name, ok := strings.CutPrefix(word, "."); ok {
			if p, err = k.parseVariable(name); err != nil {
				return p, err
			}
			if p.value == nil {
				bounds[i] = p.literal
			}
		}
		if limits[i], err = strconv.Atoi(bounds[i]); err != nil {
			return p, fmt.Errorf("random %s: want two whole numbers", strings.Join(bounds, " "))
		}
	}
	least, most := uint64(limits[0]), uint64(limits[1])
	if limits[1] < limits[0] {
		return p, fmt.Errorf("random %s: the first number is above the second", strings.Join(bounds, " "))
	}
	span := min(most-least, math.MaxUint64-1) + 1
	return part{value: func(dst []byte, v *Vars) ([]byte, error) {
		return strconv.AppendInt(dst, int64(least+v.rng.Uint64N(span)), 10), nil
	}}, nil
}

// Shorten cuts a text for an error.
func Shorten(s string) string {
	const maxQuoted = 200
	if len(s) > maxQuoted {
		return s[:maxQuoted] + "..."
	}
	return s
}

// Fixed is the whole text, if nothing of it varies.
func (t Text) Fixed() (string, bool) {
	switch {
	case len(t) == 0:
		return "", true
	case len(t) > 1 || t[0].value != nil:
		return "", false
	}
	return t[0].literal, true
}

// Append renders the text. A variable without a value, such as one whose capture
// failed, is an *UnknownError.
func (t Text) Append(dst []byte, v *Vars) (_ []byte, err error) {
	start := len(dst)
	for i := range t {
		p := &t[i]
		if p.value == nil {
			dst = append(dst, p.literal...)
		} else if dst, err = p.value(dst, v); err != nil {
			return dst[:start], err
		}
	}
	return dst, nil
}
