package load

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"
)

// literal is the template of a text that is to be sent as it is.
func literal(s string) string { return strings.ReplaceAll(s, "{{", `{{"{{"}}`) }

// A text is a template made ready. Nearly all are a few variables between
// literal parts: those are written one after the other, without allocating.
// With anything more, such as a pipeline or a condition, it is text/template's.
type text struct {
	parts []part
	rest  *program // instead of parts
}

type part struct {
	kind          kind
	s             string // the literal, or the variable's name
	table, column int    // of a partField
	least         int    // of a partRandom
	span          uint64 // of a partRandom; see bounds
}

type kind int

const (
	partLiteral kind = iota
	partN
	partClient
	partCaptured
	partField
	partCounter
	partUUID
	partRandom
)

// parseText compiles a template; what says which, such as "path". It finds a
// variable that is not known (an *unknownError) and a wrong use of a function,
// where that does not depend on what only a request will know.
func parseText(what, s string, known *names) (text, error) {
	if !strings.Contains(s, "{{") {
		return text{parts: []part{{s: s}}}, nil
	}
	t, err := template.New(what).Option("missingkey=error").Funcs(new(execution).functions()).Parse(s)
	if err != nil {
		return text{}, err
	}
	root := t.Root
	err = (&checker{known}).node(root, true)
	var x text
	if err == nil {
		var simple bool
		if x.parts, simple = compileParts(root, known); !simple {
			x = text{rest: newProgram(t)}
			// Names below with, range and define mean what the dot is there. The
			// values are made up, so only a missing one is a mistake of the plan.
			if _, e := x.append(nil, known.sample()); errors.As(e, new(*unknownError)) {
				err = e
			}
		}
	}
	if err != nil {
		err = fmt.Errorf("%s %q: %w", what, shorten(s), err)
		if errors.As(err, new(*unknownError)) {
			err = fmt.Errorf("%w (known: %s)", err, known.list())
		}
		return text{}, err
	}
	return x, nil
}

// shorten cuts what an error message quotes.
func shorten(s string) string {
	if len(s) > bodyShown {
		return s[:bodyShown] + "..."
	}
	return s
}

// fixed returns the text, if it is the same for every request.
func (t *text) fixed() (string, bool) {
	if t.rest != nil || len(t.parts) > 1 || len(t.parts) == 1 && t.parts[0].kind != partLiteral {
		return "", false
	}
	if len(t.parts) == 0 {
		return "", true
	}
	return t.parts[0].s, true
}

// append renders the text at the end of dst. A variable that has no value yet,
// such as one whose capture failed, is an *unknownError.
func (t *text) append(dst []byte, v *vars) ([]byte, error) {
	if t.rest != nil {
		return t.rest.append(dst, v)
	}
	start := len(dst)
	for i := range t.parts {
		p := &t.parts[i]
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
				return dst[:start], &unknownError{p.s}
			}
			dst = append(dst, s...)
		case partField:
			if p.table >= len(v.rows) {
				return dst[:start], &unknownError{p.s}
			}
			dst = append(dst, v.rows[p.table][p.column]...)
		case partCounter:
			dst = strconv.AppendInt(dst, v.count(), 10)
		case partUUID:
			dst = v.appendUUID(dst)
		case partRandom:
			dst = strconv.AppendInt(dst, int64(v.random(p.least, p.span)), 10)
		}
	}
	return dst, nil
}

// A program is a template that only text/template can execute.
//
// Its functions need the client, and text/template binds functions to the
// template. So there is a clone of it for each goroutine that executes it at
// this moment, not for each client, of which there may be thousands.
//
// Note: to rewrite the parsed tree so that functions get the data as their
// first argument would need no clones, but inside {{template "x" .y}} neither
// the dot nor $ is the data.
type program struct{ free sync.Pool }

func newProgram(t *template.Template) *program {
	p := new(program)
	p.free.New = func() any {
		e := &execution{data: map[string]any{}, rows: map[string]map[string]string{}}
		// Clone's error is always nil.
		e.tmpl = template.Must(t.Clone()).Funcs(e.functions())
		return e
	}
	return p
}

// An execution is what one goroutine needs to execute a program.
type execution struct {
	tmpl *template.Template
	v    *vars // of the client whose turn it is
	out  []byte
	data map[string]any
	rows map[string]map[string]string // of data, by table
}

func (e *execution) functions() template.FuncMap {
	return template.FuncMap{
		"counter": func() int64 { return e.v.count() },
		"uuid":    func() string { return string(e.v.appendUUID(nil)) },
		"random": func(lo, hi any) (int, error) {
			least, span, err := bounds(lo, hi)
			if err != nil {
				return 0, err
			}
			return e.v.random(least, span), nil
		},
	}
}

// Write implements io.Writer.
func (e *execution) Write(p []byte) (int, error) {
	e.out = append(e.out, p...)
	return len(p), nil
}

func (p *program) append(dst []byte, v *vars) ([]byte, error) {
	e := p.free.Get().(*execution)
	e.use(v)
	e.out = dst
	err := e.tmpl.Execute(e, e.data)
	out := e.out
	e.v, e.out = nil, nil
	p.free.Put(e)
	if err == nil {
		return out, nil
	}
	// text/template has no type for this error.
	if _, key, ok := strings.Cut(err.Error(), "map has no entry for key "); ok {
		err = &unknownError{strings.Trim(key, `"`)}
	}
	return out[:len(dst)], err
}

// use makes the variables the data of the execution.
func (e *execution) use(v *vars) {
	e.v = v
	clear(e.data)
	for name, s := range v.captured {
		e.data[name] = s
	}
	for i, row := range v.rows {
		t := &v.tables.all[i]
		m := e.rows[t.name]
		if m == nil {
			m = make(map[string]string, len(row))
			e.rows[t.name] = m
		}
		for j, field := range row {
			m[t.columns[j]] = field
		}
		e.data[t.name] = m
	}
	e.data["n"], e.data["client"], e.data["arg"] = v.n, v.client, v.arg
}

// compileParts makes parts of a template that was checked. It returns false if
// the template has more than literals, variables and functions of its own.
func compileParts(root *parse.ListNode, known *names) (parts []part, ok bool) {
	for _, n := range root.Nodes {
		var p part
		switch n := n.(type) {
		case *parse.TextNode:
			p.s = string(n.Text)
		case *parse.ActionNode:
			if len(n.Pipe.Decl) > 0 || len(n.Pipe.Cmds) != 1 {
				return nil, false
			}
			if p, ok = compilePart(n.Pipe.Cmds[0].Args, known); !ok {
				return nil, false
			}
		default:
			return nil, false
		}
		if last := len(parts) - 1; p.kind == partLiteral && last >= 0 && parts[last].kind == partLiteral {
			parts[last].s += p.s
			continue
		}
		parts = append(parts, p)
	}
	return parts, true
}

func compilePart(args []parse.Node, known *names) (p part, ok bool) {
	if f, isFunc := args[0].(*parse.IdentifierNode); isFunc {
		switch f.Ident {
		case "counter":
			return part{kind: partCounter}, true
		case "uuid":
			return part{kind: partUUID}, true
		case "random":
			lo, ok1 := constant(args[1], known)
			hi, ok2 := constant(args[2], known)
			if !ok1 || !ok2 {
				return part{}, false
			}
			p = part{kind: partRandom}
			p.least, p.span, _ = bounds(lo, hi) // checked
			return p, true
		}
		return part{}, false
	}
	if len(args) != 1 {
		return part{}, false
	}
	if v, ok := constant(args[0], known); ok {
		s, ok := v.(string)
		return part{s: s}, ok
	}
	path := variable(args[0])
	switch {
	case len(path) == 1 && path[0] == "n":
		return part{kind: partN}, true
	case len(path) == 1 && path[0] == "client":
		return part{kind: partClient}, true
	case len(path) == 1 && known.captured[path[0]]:
		return part{kind: partCaptured, s: path[0]}, true
	case len(path) == 2 && path[0] != "arg":
		p = part{kind: partField, s: path[0] + "." + path[1]}
		p.table, p.column = known.tables.find(path[0], path[1])
		return p, true
	}
	return part{}, false // a whole table, say
}

// variable is the path of a variable where the dot is the data, or nil.
func variable(n parse.Node) []string {
	switch n := n.(type) {
	case *parse.FieldNode:
		return n.Ident
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			return n.Ident[1:]
		}
	}
	return nil
}

// constant is the value of a node that is the same in every request: so is an
// arg, which a run does not change.
func constant(n parse.Node, known *names) (any, bool) {
	switch n := n.(type) {
	case *parse.StringNode:
		return n.Text, true
	case *parse.NumberNode:
		if n.IsInt {
			return n.Int64, true
		}
		return n.Float64, n.IsFloat
	}
	if path := variable(n); len(path) == 2 && path[0] == "arg" {
		s, ok := known.arg[path[1]]
		return s, ok
	}
	return nil, false
}

// A checker finds mistakes of a template without executing it, so also those
// of branches that a first request would not take.
type checker struct{ known *names }

// node checks a node and what is in it; root says that the dot is the data.
func (c *checker) node(n parse.Node, root bool) error {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil { // an else that is not there
			return c.nodes(slices.Values(n.Nodes), root)
		}
	case *parse.ActionNode:
		return c.pipe(n.Pipe, root)
	case *parse.TemplateNode:
		return c.pipe(n.Pipe, root)
	case *parse.IfNode:
		return c.branch(&n.BranchNode, root, root)
	case *parse.WithNode:
		return c.branch(&n.BranchNode, root, false)
	case *parse.RangeNode:
		return c.branch(&n.BranchNode, root, false)
	case *parse.PipeNode: // in parentheses
		return c.pipe(n, root)
	case *parse.ChainNode:
		return c.node(n.Node, root)
	case *parse.IdentifierNode:
		return c.call(n, nil, 0, root)
	case *parse.FieldNode:
		if root {
			return c.known.check(n.Ident)
		}
	case *parse.VariableNode:
		if path := variable(n); len(path) > 0 {
			return c.known.check(path)
		}
	}
	return nil
}

func (c *checker) nodes(all iter.Seq[parse.Node], root bool) error {
	for n := range all {
		if err := c.node(n, root); err != nil {
			return err
		}
	}
	return nil
}

// branch checks if, with and range; inner says what the dot is in the body.
func (c *checker) branch(b *parse.BranchNode, root, inner bool) error {
	return cmp.Or(c.pipe(b.Pipe, root), c.node(b.List, inner), c.node(b.ElseList, root))
}

func (c *checker) pipe(p *parse.PipeNode, root bool) error {
	if p == nil { // of a template that is given nothing
		return nil
	}
	for i, cmd := range p.Cmds {
		args := cmd.Args
		if f, ok := args[0].(*parse.IdentifierNode); ok {
			if err := c.call(f, args[1:], min(i, 1), root); err != nil {
				return err
			}
			args = args[1:]
		}
		if err := c.nodes(slices.Values(args), root); err != nil {
			return err
		}
	}
	return nil
}

// call checks the use of a function of our own; piped counts what the pipeline
// adds to its arguments.
func (c *checker) call(f *parse.IdentifierNode, args []parse.Node, piped int, root bool) error {
	got, want := len(args)+piped, 0
	switch f.Ident {
	case "counter", "uuid":
	case "random":
		want = 2
	default:
		return nil
	}
	if got != want {
		return fmt.Errorf("wrong number of arguments of %s: %d (want %d)", f.Ident, got, want)
	}
	if len(args) < 2 { // the last one is piped
		return nil
	}
	var values [2]any
	for i, n := range args {
		_, field := n.(*parse.FieldNode)
		v, ok := constant(n, c.known)
		if !ok || field && !root {
			return nil
		}
		values[i] = v
	}
	_, _, err := bounds(values[0], values[1])
	return err
}
