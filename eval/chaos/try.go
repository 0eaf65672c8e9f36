//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

// patience is how long dyno may take to end once a fault was done.
const patience = time.Minute

// A bench is what all tries share.
type bench struct {
	options
	dir     string // of all tries
	hostile string // the executable of the hostile service
	source  string // of a service, a repository of git with two revisions
	genuine string // a run directory
}

func newBench(ctx context.Context, o options, temp string) (*bench, error) {
	b := &bench{options: o, dir: temp, hostile: filepath.Join(temp, "hostile"), source: filepath.Join(temp, "source"), genuine: filepath.Join(temp, "genuine")}
	var err error
	if b.dyno, err = program.Dyno(ctx, o.dyno, temp); err != nil {
		return nil, err
	}
	if err := command(ctx, "", "go", "build", "-o", b.hostile, "./chaos/hostile"); err != nil {
		return nil, err
	}
	if err := b.writeSource(ctx); err != nil {
		return nil, err
	}
	return b, command(ctx, b.source, b.dyno, "run", ".", "--vary", "GOGC=100,200", "--repeat", "2", "-d", "200ms", "--profile", "cpu", "--profile-repeat", "1", "--out", b.genuine)
}

// writeSource makes a repository with two revisions of a service that needs the standard library only.
func (b *bench) writeSource(ctx context.Context) error {
	const main = `package main

import (
	"net/http"
	"os"
)

const text = "%s"

func main() {
	http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(text))
	}))
}
`
	if err := os.Mkdir(b.source, 0o755); err != nil {
		return err
	}
	git := func(args ...string) error {
		return command(ctx, b.source, "git", append([]string{"-c", "user.name=chaos", "-c", "user.email=chaos@example.org"}, args...)...)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(b.source, "go.mod"), []byte("module example.org/chaos\n\ngo 1.26\n"), 0o644), git("init", "-q")); err != nil {
		return err
	}
	const micro = "package main\n\nimport \"testing\"\n\nfunc BenchmarkText(b *testing.B) {\n\tfor b.Loop() {\n\t}\n}\n"
	if err := os.WriteFile(filepath.Join(b.source, "main_test.go"), []byte(micro), 0o644); err != nil {
		return err
	}
	for _, text := range []string{"one", "two"} {
		err := os.WriteFile(filepath.Join(b.source, "main.go"), fmt.Appendf(nil, main, text), 0o644)
		if err := errors.Join(err, git("add", "."), git("commit", "-qm", text)); err != nil {
			return err
		}
	}
	return nil
}

func command(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(name), err, program.LastLine(string(out)))
	}
	return nil
}

// A try is one fault, and what came of it.
type try struct {
	*bench
	kind kind
	ctx  context.Context
	id   string // in the environment of all that it starts
	dir  string // of its own
	rng  *rand.Rand
	cwd  string // where dyno starts, and the directory for temporary files that it has
	temp string

	mu                                 sync.Mutex
	finished, lost                     int // trials
	mib                                float64
	left, hung, escapes, panics, wrong []string
}

func (t *try) out() string    { return filepath.Join(t.dir, "run") }
func (t *try) copied() string { return filepath.Join(t.dir, "source") } // of the source

func (t *try) run(ctx context.Context) (err error) {
	t.ctx, t.cwd, t.temp = ctx, t.dir, filepath.Join(t.dir, "tmp")
	if err := os.MkdirAll(t.temp, 0o711); err != nil {
		return err
	}
	err = t.kind.do(t)
	t.look()
	for _, pid := range t.processes() { // of dyno itself, too, if it hung
		syscall.Kill(pid, syscall.SIGKILL)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(t.dir)) }()
	defer syscall.Unmount(filepath.Join(t.dir, "small"), syscall.MNT_DETACH)
	if bad := len(t.left) + len(t.hung) + len(t.escapes) + len(t.panics) + len(t.wrong) + t.lost; t.keep != "" && bad > 0 {
		return errors.Join(err, os.MkdirAll(t.keep, 0o755), os.CopyFS(filepath.Join(t.keep, t.id), os.DirFS(t.dir)))
	}
	return err
}

// look notes what is left after the next start.
func (t *try) look() {
	for range 50 { // what was killed needs a moment
		if len(t.processes()) == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, pid := range t.processes() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		t.left = append(t.left, fmt.Sprintf("process %d is left: %s", pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	for _, dir := range []string{t.temp, filepath.Join(t.copied(), ".git", "worktrees")} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), "bait") {
				t.left = append(t.left, filepath.Join(dir, e.Name())+" is left")
			}
		}
	}
	parts, _ := filepath.Glob(filepath.Join(t.out(), ".*.[0-9]*"))
	for _, p := range parts {
		t.left = append(t.left, p+" is left")
	}
}

// processes are those that this try has started, directly or not.
func (t *try) processes() []int {
	mark := []byte("\x00CHAOS_TRY=" + t.id + "\x00")
	var pids []int
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append(append([]byte{0}, env...), 0), mark) {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !bytes.Contains(stat, []byte(") Z ")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// A dyno is one that runs.
type dyno struct {
	t     *try
	args  []string
	cmd   *exec.Cmd
	ended chan struct{}
	mu    sync.Mutex
	text  bytes.Buffer // standard output and standard error
}

func (d *dyno) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(p)
}

func (d *dyno) output() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.String()
}

func (t *try) start(args ...string) (*dyno, error) { return t.startAs(nil, args...) }

func (t *try) startAs(user *syscall.Credential, args ...string) (*dyno, error) {
	d := &dyno{t: t, args: args, ended: make(chan struct{})}
	d.cmd = exec.CommandContext(t.ctx, t.bench.dyno, args...)
	d.cmd.Dir = t.cwd
	d.cmd.Env = append(os.Environ(), "TMPDIR="+t.temp, "XDG_CONFIG_HOME="+filepath.Join(t.dir, "config"), "CHAOS_TRY="+t.id)
	d.cmd.Stdout, d.cmd.Stderr = d, d
	d.cmd.WaitDelay = time.Second
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user, Setpgid: true}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		d.cmd.Wait()
		close(d.ended)
	}()
	go d.watchMemory()
	return d, nil
}

// watchMemory keeps the peak of dyno's own memory, which the kernel forgets with the process.
func (d *dyno) watchMemory() {
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
		if _, rest, ok := bytes.Cut(status, []byte("VmHWM:")); err == nil && ok {
			kib, _ := strconv.ParseFloat(string(bytes.Fields(rest)[0]), 64)
			d.t.mu.Lock()
			d.t.mib = max(d.t.mib, kib/1024)
			d.t.mu.Unlock()
		}
		select {
		case <-d.ended:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

var (
	aTrial   = regexp.MustCompile(`(?m)^(?:block|trial) \d+/\d+ .*: \d+ requests in `)
	aPanic   = regexp.MustCompile(`(?m)^(panic:|fatal error:|goroutine \d+ \[|runtime error)`)
	anEscape = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f]|\u009b")
)

// wait waits for dyno's end and returns its exit status, -1 if it was killed.
func (d *dyno) wait() int {
	select {
	case <-d.ended:
	case <-time.After(patience):
		d.t.hung = append(d.t.hung, fmt.Sprintf("dyno %q hangs, and last said %q", d.args, program.LastLine(d.output())))
		d.cmd.Process.Kill()
		<-d.ended
	}
	text := d.output()
	if found := aPanic.FindString(text); found != "" {
		_, rest, _ := strings.Cut(text, found)
		d.t.panics = append(d.t.panics, found+rest[:min(len(rest), 600)])
	}
	if at := anEscape.FindStringIndex(text); at != nil {
		d.t.escapes = append(d.t.escapes, fmt.Sprintf("dyno %q printed %q", d.args, text[max(0, at[0]-60):min(len(text), at[0]+60)]))
	}
	return d.cmd.ProcessState.ExitCode()
}

// expect notes a status that dyno may not have, and an error without a word.
func (d *dyno) expect(statuses ...int) {
	status := d.wait()
	if !slices.Contains(statuses, status) {
		d.t.wrong = append(d.t.wrong, fmt.Sprintf("dyno %q ended with status %d, not %v: %s", d.args, status, statuses, program.LastLine(d.output())))
	}
	if status > 0 && strings.TrimSpace(d.output()) == "" {
		d.t.wrong = append(d.t.wrong, fmt.Sprintf("dyno %q failed and says nothing", d.args))
	}
}

// theFiles of a trial are gone with a directory that is removed; its result is not.
var theFiles = regexp.MustCompile(`"files":\[[^]]*\],?`)

// results are the whole lines of results.jsonl in a run directory, without what files there are.
func results(dir string) []string {
	text, _ := os.ReadFile(filepath.Join(dir, "results.jsonl"))
	text = theFiles.ReplaceAll(text, nil)
	end := bytes.LastIndexByte(text, '\n') + 1
	return slices.Collect(strings.Lines(string(text[:end])))
}

// keptAll notes what was finished and is not in the run directory: lines that were there, and trials that dyno
// said it had done.
func (t *try) keptAll(dir string, lines []string, said int) {
	now := results(dir)
	missing := 0
	for _, l := range lines {
		if !slices.Contains(now, l) {
			missing++
		}
	}
	t.finished += max(said, len(lines))
	t.lost += max(missing, said-len(now))
}

func (d *dyno) said() int { return len(aTrial.FindAllString(d.output(), -1)) }

// goOn is the next start: it resumes the run in dir or, if there is none, begins another, which must be done.
// No user is faster; and dyno takes files that are younger than a second for ones that are being written.
func (t *try) goOn(dir string) error {
	time.Sleep(time.Second)
	if _, err := os.Stat(filepath.Join(dir, "run.json")); errors.Is(err, fs.ErrNotExist) {
		return t.nextStart()
	}
	return t.mustDo("run", "--resume", dir)
}

// nextStart runs dyno once more, which collects what was left.
func (t *try) nextStart() error {
	return t.mustDo(t.small(filepath.Join(t.dir, "next"), "--repeat", "1")...)
}

func (t *try) mustDo(args ...string) error {
	d, err := t.start(args...)
	if err != nil {
		return err
	}
	d.expect(0)
	return nil
}

// small is a run of a well-behaved service. A request may take 5 s: an open load that a stopped service does not
// answer waits twice as long as a request may take, a minute by default, and that is no hang.
func (t *try) small(out string, more ...string) []string {
	return append([]string{"run", t.hostile, "--vary", "GOGC=100,200", "-d", "200ms", "--repeat", "3", "-c", "2", "--timeout", "5s", "--out", out}, more...)
}

// moment waits for a random part of d and reports whether dyno still runs then.
func (t *try) moment(p *dyno, d time.Duration) bool {
	select {
	case <-p.ended:
		return false
	case <-time.After(time.Duration(t.rng.Int64N(int64(d)))):
		return true
	}
}
