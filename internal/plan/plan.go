// Package plan reads dyno.yaml, and run.json, into a dyno.Experiment. It owns the syntax,
// and the line and column of every mistake; package dyno owns the meaning, and package check judges it.
package plan

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan/check"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Parse reads a plan. Paths are relative to the directory of file. A mistake is a
// *PlanError with its place. The subject may be missing, to be given otherwise.
func Parse(file string, src []byte) (*dyno.Experiment, error) {
	d, err := newDecoder(file, src)
	if err != nil {
		return nil, err
	}
	e := new(dyno.Experiment)
	if err := d.run(func() { d.mapping(d.root, d.keys(e)) }); err != nil {
		return nil, err
	}
	if e.Bench != nil && e.Subject.Dir == "" {
		e.Subject.Dir = d.path(".")
	}
	if e.Name == "" {
		abs, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		e.Name = filepath.Base(filepath.Dir(abs))
	}
	checked := *e
	if checked.Subject.String() == "" {
		checked.Subject.Package = "given otherwise"
	}
	if err := check.File(&checked); err != nil {
		return nil, d.locate(err)
	}
	return e, nil
}

// Locate gives a mistake found after Parse its place in the file.
func Locate(file string, src []byte, e *dyno.PlanError) *dyno.PlanError {
	d, err := newDecoder(file, src)
	if err != nil || len(e.Key) == 0 {
		return e
	}
	return d.locate(e)
}

func (d *decoder) subject(n ast.Node, s *dyno.Subject) {
	s.Dir = "."
	keys := d.keys(s)
	keys["package"] = func(n ast.Node) { s.Package = d.packageOf(n) }
	keys["binary"] = func(n ast.Node) { s.Binary = d.path(d.scalar(n)) }
	d.mapping(n, keys)
	s.Dir = d.path(s.Dir)
}

func (d *decoder) needs(n ast.Node, needs *map[string]dyno.Need) {
	*needs = map[string]dyno.Need{}
	var file ast.Node // compose
	var services []string
	d.pairs(n, func(k, v ast.Node) {
		switch _, list := v.(*ast.SequenceNode); {
		case d.scalar(k) == "compose" && isScalar(v):
			file = v
			return
		case d.scalar(k) == "services" && list:
			d.items(v, func(n ast.Node) { services = append(services, d.scalar(n)) })
			return
		}
		var need dyno.Need
		keys := d.keys(&need)
		keys["package"] = func(n ast.Node) { need.Package = d.packageOf(n) }
		keys["mounts"] = func(n ast.Node) {
			d.items(n, func(n ast.Node) {
				from, to, ok := strings.Cut(d.scalar(n), ":")
				if !ok {
					d.fail(n, "bad mount %q (want FROM:TO)", d.scalar(n))
				}
				need.Mounts = append(need.Mounts, d.path(from)+":"+to)
			})
		}
		d.mapping(v, keys)
		(*needs)[d.scalar(k)] = need
	})
	switch {
	case file != nil:
		d.compose(file, services, *needs)
	case services != nil:
		d.fail(n, "services are those of a compose file (want compose: compose.yaml beside)")
	}
}

func isScalar(n ast.Node) bool {
	_, ok := n.(ast.ScalarNode)
	return ok
}

// packageOf reads an import path or a directory, as in the arguments of dyno run.
func (d *decoder) packageOf(n ast.Node) string {
	name := d.scalar(n)
	if dir := d.path(name); strings.HasPrefix(name, ".") || isDir(dir) {
		return dir
	}
	return name
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (d *decoder) path(p string) string {
	if !filepath.IsAbs(p) {
		p = filepath.Join(filepath.Dir(d.file), p)
	}
	if abs, err := filepath.Abs(p); err == nil {
		p = abs
	}
	return p
}

func (d *decoder) pathTo(n ast.Node) string {
	p := d.scalar(n)
	if p == "" {
		d.fail(n, "want the path of a file")
	}
	return d.path(p)
}

// mostText bounds a file that becomes a part of run.json.
const mostText = 1 << 20

// textOf returns a text, or that of the file that @FILE names: the plan keeps it for who resumes the run.
func (d *decoder) textOf(n ast.Node) string {
	text := d.scalar(n)
	file, ok := strings.CutPrefix(text, "@")
	if !ok {
		return text
	}
	path := d.path(file)
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > mostText) {
		err = fmt.Errorf("%s is not a file of at most %d bytes", path, mostText)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		d.fail(n, "%v (for a text that begins with @ write {{\"@\"}})", err)
	}
	if text = string(data); strings.HasPrefix(text, "@") {
		text = `{{"@"}}` + text[1:]
	}
	return text
}

func (d *decoder) vary(n ast.Node, fs *dyno.Factors) {
	d.pairs(n, func(key, value ast.Node) {
		f := dyno.Factor{Name: d.scalar(key)}
		d.reader("", &f.Levels)(value)
		*fs = append(*fs, f)
	})
}

func (d *decoder) settings(n ast.Node, ss *[]dyno.Setting) {
	d.items(n, func(n ast.Node) {
		var s dyno.Setting
		d.pairs(n, func(key, value ast.Node) { s = append(s, dyno.Level{Factor: d.scalar(key), Value: d.scalar(value)}) })
		*ss = append(*ss, s)
	})
}

// stepKeys are those of a step that may stand in load itself.
var stepKeys = []string{"path", "method", "headers", "body", "body_file", "expect"}

func (d *decoder) load(n ast.Node, l *dyno.Load) {
	var one dyno.Step
	alone := false
	keys := d.keys(l)
	of := d.keys(&one)
	keys["program"] = func(n ast.Node) {
		l.Program = d.scalar(n)
		if path := d.path(l.Program); strings.HasPrefix(l.Program, ".") || exists(path) {
			l.Program = path
		}
	}
	for _, key := range stepKeys {
		keys[key] = func(n ast.Node) { alone = true; of[key](n) }
	}
	d.mapping(n, keys)
	if !alone {
		return
	}
	if len(l.Client.Loop) > 0 {
		d.fail(n, "load has both client and the keys of a single step (consider: put path, method, headers and body into client.loop)")
	}
	if one.Path == "" {
		one.Path = "/"
	}
	one.Method = strings.ToUpper(one.Method)
	l.Client.Loop = []dyno.Step{one}
}

func (d *decoder) steps(n ast.Node, steps *[]dyno.Step) {
	d.items(n, func(n ast.Node) {
		var s dyno.Step
		if _, ok := n.(ast.MapNode); !ok {
			method, path, ok := strings.Cut(d.scalar(n), " ")
			if !ok {
				d.fail(n, "a step is a mapping, or a line such as: GET /path")
			}
			s.Method, s.Path = method, strings.TrimSpace(path)
		} else {
			d.mapping(n, d.keys(&s))
		}
		if s.Path == "" && s.Sleep == (dyno.Sleep{}) && len(s.Parallel.Steps) == 0 {
			d.fail(n, "a step needs a path (or sleep, or a list of parallel steps)")
		}
		s.Method = strings.ToUpper(s.Method)
		*steps = append(*steps, s)
	})
}

func (d *decoder) parallel(n ast.Node, p *dyno.Parallel) {
	if _, ok := n.(*ast.SequenceNode); !ok {
		d.parse(n, into(&p.Times, parseCount))
		return
	}
	if d.steps(n, &p.Steps); len(p.Steps) == 0 {
		d.fail(n, "want at least one step")
	}
}

// messages reads a message, or a list of them. One that is a mapping is written as JSON.
func (d *decoder) messages(n ast.Node, to *[]string) {
	one := func(n ast.Node) {
		if _, ok := n.(ast.MapNode); !ok {
			*to = append(*to, d.scalar(n))
			return
		}
		text, err := yaml.YAMLToJSON([]byte(n.String()))
		if err != nil {
			d.fail(n, "%v", err)
		}
		*to = append(*to, strings.TrimSpace(string(text)))
	}
	if _, ok := n.(*ast.SequenceNode); ok {
		d.items(n, one)
	} else {
		one(n)
	}
}
