package plan

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan/check"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// A decoder walks the tree of a plan file and stops at the first mistake. It reads scalars
// as they are written, so that 1.20, 0x10, 007 and off stay themselves. Note: structs with
// tags lose the written form and the order of vary, and name no place for mistakes of
// meaning.
type decoder struct {
	file  string
	lines []string
	root  ast.Node
}

// fields says what to do with the value of each key of a mapping.
type fields map[string]func(ast.Node)

func newDecoder(file string, src []byte) (*decoder, error) {
	d := &decoder{file: file, lines: strings.Split(string(src), "\n")}
	tokens := lexer.Tokenize(string(src))
	if t := tooDeep(tokens); t != nil {
		return nil, d.at(t, "the plan is nested too deeply")
	}
	f, err := parser.Parse(tokens, 0)
	if syntax := (*yaml.SyntaxError)(nil); errors.As(err, &syntax) {
		return nil, d.at(syntax.Token, syntax.Message)
	}
	if err != nil {
		return nil, &dyno.PlanError{File: file, Msg: file + ": " + err.Error()}
	}
	if len(f.Docs) != 1 || f.Docs[0].Body == nil {
		return nil, &dyno.PlanError{File: file, Msg: file + ": want one YAML document (consider: dyno init)"}
	}
	d.root = f.Docs[0].Body
	return d, nil
}

// mostDeep is more than any plan is nested. Each level takes the parser more memory than the one
// above it: 100,000 of them take gigabytes.
const mostDeep = 100

// tooDeep returns the first token that is nested too deep, or nil. Deeper lines need as many
// spaces, of which a file has no room for many.
func tooDeep(tokens token.Tokens) *token.Token {
	brackets, row := 0, 0 // open ones; what begins a value without a line of its own
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets, row = brackets+1, 0
		case token.SequenceEndType, token.MappingEndType:
			brackets, row = max(brackets-1, 0), 0
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			row++
		default:
			row = 0
		}
		if brackets > mostDeep || row > mostDeep {
			return t
		}
	}
	return nil
}

func (d *decoder) at(t *token.Token, msg string) *dyno.PlanError {
	e := &dyno.PlanError{File: d.file, Line: 1, Column: 1, Msg: msg}
	if t != nil && t.Position != nil {
		e.Line, e.Column = t.Position.Line, t.Position.Column
	}
	if e.Line <= len(d.lines) {
		e.Source = strings.TrimRight(d.lines[e.Line-1], "\r")
		e.Column = min(e.Column, len(e.Source)+1) // a missing value is said to be beyond the line
	}
	return e
}

// run calls f and returns the mistake at which it stopped, if any.
func (d *decoder) run(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *dyno.PlanError:
			err = p
		default:
			panic(p)
		}
	}()
	f()
	return nil
}

// fail ends the decoding; run returns what it says.
func (d *decoder) fail(n ast.Node, format string, args ...any) {
	panic(d.at(first(n), dyno.PlanErrorf(format, args...).Msg))
}

// first is the token of n to show: of a mapping its first key, not the colon.
func first(n ast.Node) *token.Token {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		return m.Values[0].Key.GetToken()
	}
	return n.GetToken()
}

// locate finds the place of a mistake: the deepest of its keys that the file has.
func (d *decoder) locate(e *dyno.PlanError) *dyno.PlanError {
	n, tok := d.root, (*token.Token)(nil)
	for _, key := range e.Key {
		if list, ok := n.(*ast.SequenceNode); ok {
			if i, err := strconv.Atoi(key); err == nil && i < len(list.Values) {
				n, tok = list.Values[i], first(list.Values[i])
				continue
			}
		}
		m, ok := n.(ast.MapNode)
		if !ok && key == "0" { // a list of one, written without its brackets
			tok = first(n)
		}
		if !ok {
			break
		}
		found := false
		for it := m.MapRange(); it.Next(); {
			if it.Key().GetToken().Value == key {
				n, tok, found = it.Value(), it.Key().GetToken(), true
			}
		}
		if !found {
			break
		}
	}
	if tok == nil {
		return &dyno.PlanError{File: d.file, Msg: d.file + ": " + e.Msg}
	}
	return d.at(tok, e.Msg)
}

func (d *decoder) pairs(n ast.Node, each func(key, value ast.Node)) {
	m, ok := n.(ast.MapNode)
	if !ok {
		d.fail(n, "want a mapping (key: value), got %s", kind(n))
	}
	for it := m.MapRange(); it.Next(); {
		each(it.Key(), it.Value())
	}
}

// mapping reads each key of a mapping with its reader in fs; an unknown key is a mistake.
func (d *decoder) mapping(n ast.Node, fs fields) {
	d.pairs(n, func(key, value ast.Node) {
		name := key.GetToken().Value
		set, ok := fs[name]
		if !ok {
			known := slices.Sorted(maps.Keys(fs))
			if near := dyno.Nearest(name, known); near != "" {
				d.fail(key, "unknown key %q (did you mean %s?)", name, near)
			}
			d.fail(key, "unknown key %q (want one of %s)", name, strings.Join(known, ", "))
		}
		set(value)
	})
}

// keys has a reader for each field of a struct whose type says how it is read, by
// its name in JSON.
func (d *decoder) keys(part any) fields {
	fs := fields{}
	for key, field := range check.Keys(reflect.ValueOf(part).Elem()) {
		if read := d.reader(key, field.Addr().Interface()); read != nil {
			fs[key] = read
		}
	}
	return fs
}

func (d *decoder) reader(key string, to any) func(ast.Node) {
	set := value(key, to)
	switch to := to.(type) {
	case *dyno.Limits, *dyno.Probes, *dyno.Client, *dyno.On:
		return func(n ast.Node) { d.mapping(n, d.keys(to)) }
	case **dyno.Bench:
		return optional(d, to)
	case **dyno.GRPC:
		return optional(d, to)
	case **dyno.Kubernetes:
		return optional(d, to)
	case **dyno.Recording:
		return optional(d, to)
	case **dyno.Server:
		return func(n ast.Node) {
			if *to = new(dyno.Server); kind(n) != "nothing" { // postgres: with nothing to say of it
				d.mapping(n, d.keys(*to))
			}
		}
	case *map[string]dyno.Need:
		return func(n ast.Node) { d.needs(n, to) }
	case *dyno.Subject:
		return func(n ast.Node) { d.subject(n, to) }
	case *dyno.Load:
		return func(n ast.Node) { d.load(n, to) }
	case *dyno.Factors:
		return func(n ast.Node) { d.vary(n, to) }
	case *[]dyno.Setting:
		return func(n ast.Node) { d.settings(n, to) }
	case *[]dyno.Step:
		return func(n ast.Node) { d.steps(n, to) }
	case *dyno.Parallel:
		return func(n ast.Node) { d.parallel(n, to) }
	case *[]dyno.Threshold:
		return list(d, to, dyno.ParseThreshold)
	case *[]dyno.More:
		return list(d, to, dyno.ParseMore)
	case *[]int:
		return list(d, to, parseStatus)
	case *map[string]string:
		read := d.scalar
		switch key {
		case "data":
			read = d.pathTo
		case "files":
			read = d.textOf
		}
		return func(n ast.Node) {
			*to = map[string]string{}
			d.pairs(n, func(k, v ast.Node) { (*to)[d.scalar(k)] = read(v) })
		}
	case *[]string:
		switch key {
		case "data":
			return func(n ast.Node) { d.messages(n, to) }
		case "seed":
			return list(d, to, func(s string) (string, error) { return d.path(s), nil })
		}
		texts := list(d, to, func(s string) (string, error) { return s, nil })
		if key != "build" {
			return texts
		}
		return func(n ast.Node) {
			if _, ok := n.(*ast.SequenceNode); ok {
				texts(n)
			} else {
				d.parse(n, set)
			}
		}
	case *string:
		if slices.Contains([]string{"body_file", "targets", "replay", "data_file", "descriptors"}, key) {
			return func(n ast.Node) { *to = d.pathTo(n) }
		}
	}
	if set == nil {
		return nil
	}
	return func(n ast.Node) { d.parse(n, set) }
}

// optional makes a part of the plan that has one only if the file says so, and reads it.
func optional[T any](d *decoder, to **T) func(ast.Node) {
	return func(n ast.Node) {
		*to = new(T)
		d.mapping(n, d.keys(*to))
	}
}

// parse reads a scalar with set.
func (d *decoder) parse(n ast.Node, set func(string) error) {
	if err := set(d.scalar(n)); err != nil {
		d.fail(n, "%v", err)
	}
}

func (d *decoder) items(n ast.Node, each func(ast.Node)) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(n, "want a list, got %s", kind(n))
	}
	for _, v := range s.Values {
		each(v)
	}
}

// scalar returns a scalar as it is written, without its quotes.
func (d *decoder) scalar(n ast.Node) string {
	switch n := n.(type) {
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.NullNode:
		if n.GetToken().Type == token.NullType && n.GetToken().Value == "~" {
			return "~"
		}
		d.fail(n, "the value is missing (for an empty value write \"\")")
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value
	}
	d.fail(n, "want a plain value, got %s", kind(n))
	return ""
}

func kind(n ast.Node) string {
	switch n.(type) {
	case ast.MapNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	case *ast.AnchorNode, *ast.AliasNode:
		return "an anchor or alias, which plans do not allow"
	}
	return strconv.Quote(n.GetToken().Value)
}

// list reads a list, or one scalar for a list of one.
func list[T any](d *decoder, to *[]T, parse func(string) (T, error)) func(ast.Node) {
	one := func(n ast.Node) {
		d.parse(n, func(s string) error {
			v, err := parse(s)
			*to = append(*to, v)
			return err
		})
	}
	return func(n ast.Node) {
		if _, ok := n.(*ast.SequenceNode); ok {
			d.items(n, one)
		} else {
			one(n)
		}
	}
}
