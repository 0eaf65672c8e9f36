package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// literal returns the template of a text.
func literal(s string) string { return strings.ReplaceAll(s, "{{", `{{"{{"}}`) }

// A text is a compiled template. Rendering it allocates nothing.
type text []part

type part struct {
	kind          partKind
	s             string // the literal, or the variable's name
	table, column int    // of a partField
	least         int    // of a partRandom
	span          uint64 // of a partRandom; see bounds
	args          []text // of a partRandomOf: its two bounds
}

type partKind int

const (
	partLiteral partKind = iota
	partN
	partClient
	partCaptured
	partField
	partCounter
	partUUID
	partRandom
	partRandomOf // a random number whose bounds vary
)

// parseText compiles a template; what names it in errors. It finds syntax errors,
// unknown variables (an *UnknownError) and functions, and wrong arguments.
func parseText(what, s string, known *names) (text, error) {
	var t text
	for rest := s; rest != ""; {
		before, action, ok := strings.Cut(rest, "{{")
		if t = t.add(part{s: before}); !ok {
			break
		}
		p, after, err := known.parseAction(action)
		if err != nil {
			line := ""
			if n := strings.Count(s[:len(s)-len(action)], "\n"); n > 0 {
				line = fmt.Sprintf("line %d: ", n+1)
			}
			err = fmt.Errorf("%s %q: %s%w", what, shorten(s), line, err)
			if errors.As(err, new(*UnknownError)) {
				err = fmt.Errorf("%w (known: %s)", err, known.list())
			}
			return nil, err
		}
		t, rest = t.add(p), after
	}
	return t, nil
}

// add joins adjacent literals, so that a constant text is one part.
func (t text) add(p part) text {
	last := len(t) - 1
	switch {
	case p.kind == partLiteral && p.s == "":
		return t
	case p.kind == partLiteral && last >= 0 && t[last].kind == partLiteral:
		t[last].s += p.s
		return t
	}
	return append(t, p)
}

// parseAction compiles what follows two opening braces and returns the text after
// the closing ones.
func (k *names) parseAction(s string) (p part, rest string, err error) {
	trimmed := strings.TrimLeft(s, " ")
	if quoted, err := strconv.QuotedPrefix(trimmed); err == nil && quoted[0] != '\'' {
		if rest, ok := strings.CutPrefix(strings.TrimLeft(trimmed[len(quoted):], " "), "}}"); ok {
			p.s, err = strconv.Unquote(quoted)
			return p, rest, err
		}
	}
	inside, rest, ok := strings.Cut(s, "}}")
	if !ok {
		return p, "", fmt.Errorf(`%q is not closed (want }}; consider: {{"{{"}} to send two braces)`, shorten("{{"+s))
	}
	words := strings.Fields(inside)
	switch {
	case len(words) == 1 && words[0][0] == '.':
		p, err = k.parseVariable(words[0])
	case len(words) > 0 && isName(words[0]) && !strings.ContainsAny(inside, `|()"`):
		p, err = k.parseCall(words[0], words[1:])
	default:
		err = errNotSupported
	}
	if err == errNotSupported {
		err = fmt.Errorf("{{%s}} %w", shorten(inside), err)
	}
	return p, rest, err
}

var errNotSupported = errors.New("is neither a variable nor a function; there are no conditions, loops and pipelines " +
	"(want {{.NAME}}, {{counter}}, {{uuid}} or {{random LO HI}}; consider: a column of data, or one step for each case)")

func (k *names) parseCall(name string, args []string) (part, error) {
	kind, want := partLiteral, 0
	switch name {
	case "counter":
		kind = partCounter
	case "uuid":
		kind = partUUID
	case "random":
		kind, want = partRandom, 2
	case "if", "else", "end", "range", "with", "define", "template", "block", "printf", "print", "len", "index", "eq":
		return part{}, errNotSupported
	default:
		return part{}, fmt.Errorf("unknown function %s (known: counter, random, uuid)", name)
	}
	if len(args) != want {
		return part{}, fmt.Errorf("wrong number of arguments of %s: %d (want %d)", name, len(args), want)
	}
	p := part{kind: kind}
	if kind != partRandom {
		return p, nil
	}
	for _, word := range args {
		arg := part{s: word}
		if word[0] == '.' && strings.Trim(word, ".0123456789") != "" { // not .5
			var err error
			if arg, err = k.parseVariable(word); err != nil {
				return part{}, err
			}
		}
		p.args = append(p.args, text{arg})
	}
	lo, ok1 := p.args[0].fixed()
	hi, ok2 := p.args[1].fixed()
	if !ok1 || !ok2 {
		p.kind = partRandomOf
		return p, nil
	}
	var err error
	p.least, p.span, err = bounds(lo, hi)
	return p, err
}

func shorten(s string) string {
	if len(s) > MaxQuoted {
		return s[:MaxQuoted] + "..."
	}
	return s
}

func (t text) fixed() (string, bool) {
	switch {
	case len(t) == 0:
		return "", true
	case len(t) > 1 || t[0].kind != partLiteral:
		return "", false
	}
	return t[0].s, true
}

// append renders the text. A variable without a value, such as one whose capture
// failed, is an *UnknownError.
func (t text) append(dst []byte, v *Vars) ([]byte, error) {
	start := len(dst)
	for i := range t {
		p := &t[i]
		switch p.kind {
		case partLiteral:
			dst = append(dst, p.s...)
		case partN:
			dst = strconv.AppendInt(dst, int64(v.n), 10)
		case partClient:
			dst = strconv.AppendInt(dst, int64(v.client), 10)
		case partCaptured:
			s, ok := v.captured[p.s]
			if !ok {
				return dst[:start], &UnknownError{p.s}
			}
			dst = append(dst, s...)
		case partField:
			if p.table >= len(v.rows) {
				return dst[:start], &UnknownError{p.s}
			}
			dst = append(dst, v.rows[p.table][p.column]...)
		case partCounter:
			dst = strconv.AppendInt(dst, v.count(), 10)
		case partUUID:
			dst = v.appendUUID(dst)
		case partRandom:
			dst = strconv.AppendInt(dst, int64(v.random(p.least, p.span)), 10)
		case partRandomOf:
			least, span, err := p.bounds(v)
			if err != nil {
				return dst[:start], err
			}
			dst = strconv.AppendInt(dst, int64(v.random(least, span)), 10)
		}
	}
	return dst, nil
}

func (p *part) bounds(v *Vars) (least int, span uint64, err error) {
	lo, err1 := p.args[0].append(nil, v)
	hi, err2 := p.args[1].append(nil, v)
	if err := cmp.Or(err1, err2); err != nil {
		return 0, 0, err
	}
	return bounds(string(lo), string(hi))
}
