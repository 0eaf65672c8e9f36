//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dynolab/dyno/eval/internal/program"
)

const heyModule = "github.com/rakyll/hey@v0.1.5"

// A generator is a program that sends requests.
type generator struct {
	name, version string
	// closed is the command of conns connections for some seconds, each of which
	// sends its next request when the last is answered; nil if it cannot.
	closed func(url string, conns, seconds int) []string
	// open is the command of rate requests per second over conns connections;
	// nil if it cannot, or not with latency from when a request was due.
	open  func(url string, rate, conns, seconds int) []string
	parse func(out []byte) (figures, error) // of open's standard output
	// Of dyno only: a single request; and as open, printing all percentiles, nil if
	// it cannot yet.
	once func(url string) []string
	hgrm func(url string, rate, conns, seconds int) []string
}

// findGenerators builds dyno and hey into dir and looks for the others. What is
// missing is said in notes.
func findGenerators(ctx context.Context, c *cpus, dir, self, dyno string) (gs []generator, notes []string, err error) {
	g, err := findDyno(ctx, c, dir, dyno)
	if err != nil {
		return nil, nil, err
	}
	gs = append(gs, g)
	missing := func(name, why string) { notes = append(notes, name+" is left out: "+why) }
	if path, err := exec.LookPath("wrk"); err != nil {
		missing("wrk", "it is not installed (consider: apt-get install wrk)")
	} else {
		gs = append(gs, generator{name: "wrk", version: version(path, "-v"),
			closed: func(url string, conns, seconds int) []string {
				return []string{path, "-t1", "-c" + strconv.Itoa(conns), "-d" + inSeconds(seconds), url}
			}})
	}
	if err := goBuild(ctx, c, dir, "install", heyModule); ctx.Err() != nil {
		return nil, nil, err
	} else if err != nil {
		missing("hey", err.Error())
	} else {
		gs = append(gs, generator{name: "hey", version: heyModule,
			closed: func(url string, conns, seconds int) []string {
				return []string{filepath.Join(dir, "hey"), "-c", strconv.Itoa(conns), "-z", inSeconds(seconds), url}
			}})
	}
	gs = append(gs, generator{name: "net/http", version: "a bare client of eval/load",
		closed: func(url string, conns, seconds int) []string {
			return []string{self, "nethttp", url, strconv.Itoa(conns), inSeconds(seconds)}
		}})
	if path, err := exec.LookPath("oha"); err == nil {
		gs = append(gs, oha(path))
	} else if path, err := exec.LookPath(filepath.Join(os.Getenv("HOME"), ".cargo/bin/oha")); err == nil {
		gs = append(gs, oha(path))
	} else {
		missing("oha", "it is not installed (consider: cargo install oha)")
	}
	if path, err := exec.LookPath("vegeta"); err == nil {
		gs = append(gs, vegeta(path, dir))
	} else {
		missing("vegeta", "it is not installed")
	}
	return gs, notes, nil
}

// findDyno builds dyno, unless the user says which one, and asks it whether it
// prints all percentiles.
func findDyno(ctx context.Context, c *cpus, dir, path string) (generator, error) {
	path, err := program.Dyno(ctx, path, dir)
	if err != nil {
		return generator{}, err
	}
	load := func(url string, conns, seconds int, more ...string) []string {
		return append([]string{path, "load", url, "-c", strconv.Itoa(conns), "-d", inSeconds(seconds)}, more...)
	}
	g := generator{name: "dyno", version: version(path, "version"), parse: parseDyno,
		once:   func(url string) []string { return []string{path, "load", url, "-c", "1", "-n", "1", "--json"} },
		closed: func(url string, conns, seconds int) []string { return load(url, conns, seconds, "--json") },
		open: func(url string, rate, conns, seconds int) []string {
			return load(url, conns, seconds, "-r", fmt.Sprintf("%d/s", rate), "--json")
		}}
	help, err := c.run(ctx, dir, -1, path, "load", "--help")
	if err != nil {
		return g, err
	}
	if strings.Contains(string(help.out), "hgrm") {
		g.hgrm = func(url string, rate, conns, seconds int) []string {
			return load(url, conns, seconds, "-r", fmt.Sprintf("%d/s", rate), "--format", "hgrm")
		}
	}
	return g, nil
}

func oha(path string) generator {
	args := func(conns, seconds int, more ...string) []string {
		return append([]string{path, "-c", strconv.Itoa(conns), "-z", inSeconds(seconds), "--no-tui", "--output-format", "json"}, more...)
	}
	return generator{name: "oha", version: version(path, "--version"), parse: parseOha,
		closed: func(url string, conns, seconds int) []string { return args(conns, seconds, url) },
		open: func(url string, rate, conns, seconds int) []string {
			return args(conns, seconds, "-q", strconv.Itoa(rate), "--latency-correction", url)
		}}
}

// vegeta counts latency from when a request was sent; it is here because it is
// what Go programmers use. Its CPU time includes that of its report.
func vegeta(path, dir string) generator {
	return generator{name: "vegeta", version: version(path, "-version"), parse: parseVegeta,
		open: func(url string, rate, conns, seconds int) []string {
			results := filepath.Join(dir, "vegeta")
			n := strconv.Itoa(conns)
			attack := []string{"attack", "-rate", strconv.Itoa(rate), "-duration", inSeconds(seconds),
				"-max-workers", n, "-workers", n, "-connections", n, "-output", results}
			script := `echo "GET $1" | "$0" ` + strings.Join(attack, " ") + ` && "$0" report -type json ` + results
			return []string{"/bin/sh", "-c", script, path, url}
		}}
}

func inSeconds(n int) string { return strconv.Itoa(n) + "s" }

// goBuild runs the go command; what it installs goes to dir.
func goBuild(ctx context.Context, c *cpus, dir string, args ...string) error {
	if _, err := c.run(ctx, dir, -1, append([]string{"env", "GOBIN=" + dir, "CGO_ENABLED=0", "go"}, args...)...); err != nil {
		return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// version is the first line that a program says of itself; wrk says it with an
// exit status of 1.
func version(path, arg string) string {
	out, _ := exec.Command(path, arg).CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	line, _, _ = strings.Cut(line, " Copyright")
	return line
}
