//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A corruption does something to a file at path.
type corruption struct {
	name string
	do   func(t *try, path string) error
}

var corruptions = []corruption{
	{"random bytes changed", func(t *try, path string) error {
		return rewrite(path, func(text []byte) []byte {
			for range 1 + t.rng.IntN(20) {
				if len(text) > 0 {
					text[t.rng.IntN(len(text))] = byte(t.rng.Uint32())
				}
			}
			return text
		})
	}},
	{"cut off", func(t *try, path string) error {
		return rewrite(path, func(text []byte) []byte { return text[:t.rng.IntN(len(text)+1)] })
	}},
	{"numbers out of range", func(t *try, path string) error {
		numbers := []string{"1e308", "-1e308", "99999999999999999999", "-1", "0", "NaN", "1e-320", "null", `"x"`}
		return rewrite(path, func(text []byte) []byte {
			words := strings.FieldsFunc(string(text), func(r rune) bool { return r < '0' || r > '9' })
			for range 10 {
				if len(words) > 0 {
					text = bytes.Replace(text, []byte(words[t.rng.IntN(len(words))]), []byte(numbers[t.rng.IntN(len(numbers))]), 1)
				}
			}
			return text
		})
	}},
	{"control sequences", func(t *try, path string) error {
		quoted := fmt.Sprintf("%+q", control)
		return rewrite(path, func(text []byte) []byte {
			text = bytes.ReplaceAll(text, []byte("GOGC"), []byte(quoted[1:len(quoted)-1]))
			return bytes.ReplaceAll(text, []byte("hostile"), []byte(control))
		})
	}},
	{"10 GB of nothing", func(_ *try, path string) error { return os.Truncate(path, 10<<30) }},
	{"a pipe", func(_ *try, path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) }},
	{"a directory", func(_ *try, path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }},
	{"a link to an endless device", func(_ *try, path string) error {
		return errors.Join(os.Remove(path), os.Symlink("/dev/zero", path))
	}},
	{"a link to itself", func(_ *try, path string) error {
		return errors.Join(os.Remove(path), os.Symlink(filepath.Base(path), path))
	}},
	{"a gzip bomb", func(_ *try, path string) error { return os.WriteFile(path, bomb(), 0o600) }},
	{"JSON of great depth", func(_ *try, path string) error {
		return os.WriteFile(path, []byte(strings.Repeat("[", 1<<20)), 0o600)
	}},
}

func rewrite(path string, f func([]byte) []byte) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, f(text), 0o600)
}

// bomb returns some MB that unpack to 2 GB.
func bomb() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for range 2 << 10 {
		z.Write(zeros)
	}
	z.Close()
	return b.Bytes()
}

// directories are run directories that somebody else packed.
func directories() []kind {
	verbs := [][]string{{"report"}, {"report", "--format", "json"}, {"report", "--format", "html"}, {"compare"}, {"profile"}, {"run", "--resume"}}
	var all []kind
	for _, c := range corruptions {
		all = append(all, kind{"run directory: " + c.name, func(t *try) error {
			if err := os.CopyFS(t.out(), os.DirFS(t.genuine)); err != nil {
				return err
			}
			files, err := t.filesOfRun()
			if err != nil {
				return err
			}
			if err := c.do(t, files[t.rng.IntN(len(files))]); err != nil {
				return err
			}
			d, err := t.start(append(verbs[t.rng.IntN(len(verbs))], t.out())...)
			if err != nil {
				return err
			}
			d.expect(0, 1, 2, 98, 99)
			return nil
		}})
	}
	return all
}

// filesOfRun are the files of the run directory, its two main ones as often as all others.
func (t *try) filesOfRun() ([]string, error) {
	var files []string
	err := filepath.WalkDir(t.out(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	for range len(files) / 2 {
		files = append(files, filepath.Join(t.out(), "results.jsonl"), filepath.Join(t.out(), "run.json"))
	}
	return files, err
}

const aPlan = `subject:
  package: ./service
  env: {MODE: late}
vary:
  GOGC: [100, 200]
load:
  duration: 200ms
  concurrency: 2
  data: {users: data.csv}
  path: /{{.users.name}}
repeat: 2
thresholds: ["p99 < 1s"]
`

// plans are plans and data that make no sense, which dyno resolves without running them.
func plans() []kind {
	plan := func(name string, write func(t *try, plan, data string) error) kind {
		return kind{"plan: " + name, func(t *try) error {
			path, data := filepath.Join(t.dir, "dyno.yaml"), filepath.Join(t.dir, "data.csv")
			err := errors.Join(os.WriteFile(path, []byte(aPlan), 0o600), os.WriteFile(data, []byte("name\nann\nbob\n"), 0o600), os.Symlink(t.hostile, filepath.Join(t.dir, "service")))
			if err := errors.Join(err, write(t, path, data)); err != nil {
				return err
			}
			d, err := t.start("run", "-f", path, "--out", t.out(), "--within", "5s")
			if err != nil {
				return err
			}
			d.expect(0, 1, 2)
			return t.nextStart()
		}}
	}
	all := []kind{
		plan("aliases that multiply", func(_ *try, path, _ string) error {
			var b strings.Builder
			b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
			for n := 1; n < 12; n++ {
				fmt.Fprintf(&b, "a%d: &a%d [%s]\n", n, n, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", n-1), 10), ","))
			}
			return os.WriteFile(path, []byte(b.String()), 0o600)
		}),
		plan("YAML of great depth", func(_ *try, path, _ string) error {
			return os.WriteFile(path, []byte("subject: "+strings.Repeat("[", 100_000)), 0o600)
		}),
		plan("a million levels", func(_ *try, path, _ string) error {
			return rewrite(path, func(text []byte) []byte {
				return bytes.Replace(text, []byte("[100, 200]"), []byte("[1"+strings.Repeat(",1", 1_000_000)+"]"), 1)
			})
		}),
		plan("data of one long line", func(_ *try, _, data string) error { return os.Truncate(data, 1<<30) }),
		plan("data that are a pipe", func(_ *try, _, data string) error { return errors.Join(os.Remove(data), syscall.Mkfifo(data, 0o600)) }),
	}
	for _, c := range corruptions {
		all = append(all, plan(c.name, func(t *try, path, _ string) error { return c.do(t, path) }))
	}
	return all
}
