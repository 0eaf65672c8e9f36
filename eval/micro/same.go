//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A change is one in a function of a module.
type change struct {
	module, version string
	file, old, new  string // the first old text in the file becomes the new one
}

// theChange is in a function of unicode/norm that composes characters. Its result stays what it was.
var theChange = change{
	"golang.org/x/text", "v0.30.0", "unicode/norm/composition.go",
	"func (rb *reorderBuffer) insertFlush(src input, i int, info Properties) insertErr {\n",
	"func (rb *reorderBuffer) insertFlush(src input, i int, info Properties) insertErr {\n\tif i < -5 {\n\t\trb.flushF = nil\n\t}\n",
}

// sameCode changes one function of a large module. A long run of all benchmarks tells whether one changed that dyno left out as the same code.
func (l *lab) sameCode(ctx context.Context) error {
	c := theChange
	s := &suite{c.module, c.version, "", filepath.Join(l.dir, "same")}
	if err := s.checkout(); err != nil {
		return err
	}
	file := filepath.Join(s.dir, c.file)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed := strings.Replace(string(text), c.old, c.new, 1)
	if changed == string(text) {
		return fmt.Errorf("%s of %s is not as expected", c.file, c.version)
	}
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		return err
	}
	if err := git(s.dir, "commit", "-qam", "one function"); err != nil {
		return err
	}
	run := func(name string, args ...string) (data []byte, took time.Duration, err error) {
		out, began := filepath.Join(l.dir, name), time.Now()
		_, err = l.tool(ctx, s.dir, l.dyno, append([]string{"bench", "./...", "--profile", "none", "--vary", "rev=" + c.version + ",HEAD", "--out", out}, args...)...)
		if err == nil {
			data, err = os.ReadFile(filepath.Join(out, "summary.json"))
		}
		return data, time.Since(began).Round(time.Second), err
	}
	quick, took, err := run("default")
	if err != nil {
		return err
	}
	var left struct {
		Same map[string][]string `json:"same_code"`
	}
	if err := json.Unmarshal(quick, &left); err != nil {
		return err
	}
	ran, failed, err := times(quick)
	if err != nil {
		return err
	}
	functions := 0
	for _, names := range left.Same {
		functions += len(names)
	}
	fmt.Printf("dyno bench ./...: %v, %d benchmarks, %d without a comparison; %d functions in %d packages left out as the same code\n", took, len(ran), failed, functions, len(left.Same))
	length := l.truth
	if length == 0 {
		length = 20 * time.Minute
	}
	all, took, err := run("all", "--all", "-d", length.String())
	if err != nil {
		return err
	}
	truth, _, err := times(all)
	if err != nil {
		return err
	}
	return judgeLeftOut(truth, left.Same, took)
}

// judgeLeftOut prints what a long run says of the benchmarks that were left out.
func judgeLeftOut(truth map[string]versus, same map[string][]string, took time.Duration) error {
	var halves []float64
	changes, holds, n, most := []string{}, 0, 0, 0.0
	for name, v := range truth {
		if !leftOut(same, name) || v.Lo == nil {
			continue
		}
		n++
		halves = append(halves, (*v.Hi-*v.Lo)/2)
		if *v.Lo <= 1.01 && *v.Hi >= 0.99 {
			holds++
		}
		if v.Verdict == "better" || v.Verdict == "worse" {
			changes = append(changes, name)
		}
		most = max(most, math.Abs(math.Log(*v.Ratio)))
	}
	if n == 0 {
		return fmt.Errorf("nothing was left out")
	}
	slices.Sort(halves)
	fmt.Printf("all of them, %v: of %d left out %d are called changed %v; the 95 %% interval of %d reaches into ±1 %%, its half-width is %.1f %% (median) and %.1f %% (most), and the estimate is at most %.1f %% away\n",
		took, n, len(changes), changes, holds, 100*halves[n/2], 100*halves[n-1], 100*(math.Exp(most)-1))
	return nil
}

// leftOut reports whether the function of a benchmark, or of one that it runs, is among functions by package.
func leftOut(functions map[string][]string, name string) bool {
	for pkg, names := range functions {
		if benchmark, ok := strings.CutPrefix(name, pkg+"."); ok {
			function, _, _ := strings.Cut(benchmark, "/")
			return slices.Contains(names, function)
		}
	}
	return false
}
