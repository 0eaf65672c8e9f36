package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
)

// What a page must show as text. Each that runs sets window.__pwned, which the
// browser tests look for.
const (
	script    = `<script>window.__pwned="script"</script>`
	closing   = `</script></style></textarea></title><script>window.__pwned="closing"</script>`
	picture   = `"><img src=x onerror="window.__pwned='img'">`
	quotes    = `'" onmouseover='window.__pwned=1' x="&quot;&#39;` + "`${window.__pwned=1}`"
	template  = `{{.Token}} {{printf "%s" .}} <!--#exec cmd="id"--> ]]>`
	link      = `javascript:window.__pwned="link"`
	bidi      = "abc\u202egnp.exe\u2066x\u2069\u200e\ufeff"
	controls  = "\a\b\x1b[31mred\x1b[0m\x1b]0;title\a\x7f\u0085\u2028\u2029\v\f"
	traversal = "../../../../etc/passwd"
)

var hostiles = []string{script, closing, picture, quotes, template, link, bidi, controls, traversal}

// long is a line that no page is wide enough for.
func long() string { return strings.Repeat("very-long-", 20_000) + script }

// makeHostile is a folder of runs in which every text that a page may show means
// harm, and of things that only look like runs.
func makeHostile(out string, o options) error {
	if err := makeHostileRun(filepath.Join(out, "harmful"), o); err != nil {
		return err
	}
	// Names of run directories are data, too.
	for i, name := range []string{`<img src=x onerror=window.__pwned=2>`, "..%2f..%2fetc", bidi, "a b'\"&<>?#x"} {
		if err := makeSmall(filepath.Join(out, name), "named"+synthetic, o.seed+uint64(i)); err != nil {
			return err
		}
	}
	if err := makeSmall(filepath.Join(out, "no-json"), "broken"+synthetic, o.seed); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(out, "no-json", "run.json"), []byte(script), 0o666),
		os.WriteFile(filepath.Join(out, "no-run.txt"), []byte(script), 0o666),
		os.Mkdir(filepath.Join(out, "empty"), 0o777),
		os.Symlink("/", filepath.Join(out, "root")),
		os.Symlink("loop", filepath.Join(out, "loop")),
	)
}

// hostileSettings have each of the texts in a level.
func hostileSettings() (ss []dyno.Setting) {
	for i, text := range hostiles {
		if i%2 == 0 && i < 8 {
			ss = append(ss, dyno.Setting{{Factor: "EVIL", Value: text}})
		}
	}
	return append(ss, dyno.Setting{{Factor: "EVIL", Value: quotes + traversal}})
}

func makeHostileRun(path string, o options) error {
	var steps []string
	var loop []dyno.Step
	for _, text := range hostiles {
		loop = append(loop, dyno.Step{Name: text, Path: "/"})
		steps = append(steps, text)
	}
	s := subject()
	s.Args = append(s.Args, script, closing)
	plan := &dyno.Experiment{
		Name: script + closing + bidi + synthetic, Subject: s, Seed: &o.seed, Repeats: 2, Settings: hostileSettings(),
		Load:    dyno.Load{Concurrency: 2, RequestsPerClient: 1000, Idle: seconds(1), Client: dyno.Client{Loop: loop}},
		Profile: []string{"cpu", "allocs"}, ProfileRepeats: 1, Memory: &no,
	}
	rng := rand.New(rand.NewPCG(o.seed, 1))
	r := &run{
		path: path, plan: plan, started: epoch, seed: o.seed, rev: script, steps: steps, limit: 2000,
		command: append([]string{"dyno", "run", "--", closing, picture, traversal}, hostiles...),
		service: func(t dyno.Trial) *service { return byGOGC(t, rng) },
		dress:   harm,
	}
	return r.make()
}

// harm puts the texts wherever a subject, or what it does, can put one.
func harm(r *dyno.Result, dir string) error {
	r.Subject += " " + picture + closing
	for _, text := range append(slices.Clone(hostiles), long()) {
		r.Warnings.Add("", "%s", text)
	}
	r.Failures = map[string]int{}
	for i, text := range hostiles {
		r.Failures[text] = i + 1
		r.Values = append(r.Values, dyno.Value{Metric: text + "-p99-sec", Value: 0.001 * float64(i+1)}, dyno.Value{Metric: text, Value: float64(i)})
	}
	r.Values.Sort()
	r.Sent.Engine = script
	if r.Trial.N%5 == 4 {
		r.Err = "subject exited: " + closing + picture + controls + long()
	}
	if r.Trial.N == 2 {
		r.Sent.Saturated = "the generator was " + script
	}
	if r.Trial.For == dyno.ForProfile {
		if err := harmProfile(filepath.Join(dir, "cpu.pb.gz")); err != nil {
			return err
		}
	}
	if r.Trial.N != 1 {
		return nil
	}
	return errors.Join(
		harmSeries(filepath.Join(dir, "series.csv")),
		harmLog(filepath.Join(dir, "stderr.log")),
		os.WriteFile(filepath.Join(dir, "stdout.log"), []byte(long()), 0o666),
		os.WriteFile(filepath.Join(dir, "page.html"), []byte("<!doctype html>"+script), 0o666),
		os.WriteFile(filepath.Join(dir, "picture.svg"), []byte(`<svg xmlns="http://www.w3.org/2000/svg">`+script+`</svg>`), 0o666),
		os.WriteFile(filepath.Join(dir, `<img src=x onerror=window.__pwned=3>.txt`), []byte(script), 0o666),
		os.WriteFile(filepath.Join(dir, "..%2f..%2fpasswd"), []byte(script), 0o666),
		os.Symlink("/etc/passwd", filepath.Join(dir, "outside.txt")),
		os.Symlink("/etc", filepath.Join(dir, "etc")),
	)
}

// harmSeries adds a series of a service that chooses its name.
func harmSeries(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	for i := range 3 {
		fmt.Fprintf(f, "\"expvar/%s\",%d,%d\n", strings.ReplaceAll(picture+script, `"`, `""`), i, i)
		fmt.Fprintf(f, "rss-B,%d.5,%s\n", i, []string{"NaN", "+Inf", "-1e300"}[i])
	}
	return f.Close()
}

// harmLog writes a log of 200 MB, of which the middle is a hole.
func harmLog(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	text := strings.Join(hostiles, "\n") + "\n" + long() + "\n"
	_, err = f.WriteString(text)
	if err == nil {
		_, err = f.WriteAt([]byte("\n"+text), 200e6)
	}
	return errors.Join(err, f.Close())
}

// harmProfile is a profile whose functions, files and labels mean harm.
func harmProfile(path string) error {
	d := newDrawing("cpu", "nanoseconds", 1e7, "samples/count", "cpu/nanoseconds")
	d.p.TimeNanos, d.p.DurationNanos = epoch.UnixNano(), int64(time.Second)
	d.p.Comments = hostiles
	d.p.Mapping[0].File = picture
	for i, text := range hostiles {
		at := place{"main." + text, "/src/" + text + ".go", int64(10 + i)}
		d.add([]place{at, {text, traversal, 1}, placeServe}, int64(20+i), int64(20+i)*1e7)
		d.p.Sample[i].Label = map[string][]string{text: {text}}
	}
	return d.write(path)
}

// makeSmall is a run of two settings that has nothing harmful in it.
func makeSmall(path, name string, seed uint64) error {
	plan := &dyno.Experiment{
		Name: name, Subject: subject(), Seed: &seed, Repeats: 2, Memory: &no,
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "200"}}},
		Load:    dyno.Load{Concurrency: 2, RequestsPerClient: 500},
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	r := &run{
		path: path, plan: plan, started: epoch, seed: seed, rev: "0123456789abcdef0123456789abcdef01234567", steps: []string{"GET /"}, limit: 1000,
		service: func(t dyno.Trial) *service { return byGOGC(t, rng) },
	}
	return r.make()
}
