// Package store keeps the results of a run in a directory, which is the truth:
// plain files that cat, jq, benchstat and go tool pprof read. doc/format.md
// describes every file and field.
//
// It owns the layout of the directory, its lock and its recovery after a crash.
// It does not own what the files made from results say: summary.json, bench.txt
// and the reports come from packages compare and tables, through WriteFile.
package store

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan"
	"github.com/dynolab/dyno/internal/plan/check"
	"github.com/dynolab/dyno/internal/safe"
)

// The version of the directory's format that is written, and the oldest that is
// read. Since 2, warnings in results.jsonl are objects; a dyno that knows only
// texts would advise to delete such a line. Since 3, the order of trials is balanced; a run of before keeps its
// order, and its schema, when it is resumed.
const (
	schema         = 3
	shuffledSchema = 2
	oldestSchema   = 1
)

// CheckSchema returns an error if the run.json at path has a schema that this dyno
// cannot read; version is that of the dyno that wrote it.
func CheckSchema(path string, found int, version string) error {
	if found < oldestSchema || found > schema {
		return fmt.Errorf("%s has schema %d, but this dyno knows %d to %d (consider: the dyno that wrote it, %s)", path, found, oldestSchema, schema, version)
	}
	return nil
}

// The files of a run directory.
const (
	runFile      = "run.json"
	resultsFile  = "results.jsonl"
	trialsDir    = "trials"
	latencyFile  = "latency.hlog"
	seriesFile   = "series.parquet"
	requestsFile = "requests.parquet"

	collectionsFile = "gc.csv"
	seriesTextFile  = "series.csv" // while the trial lasts
)

// A Run is what run.json says: the plan as resolved, and where it ran.
type Run struct {
	Schema   int              `json:"schema"`
	Dyno     string           `json:"dyno"`              // version of dyno
	Started  time.Time        `json:"started"`           // of the first session
	Command  []string         `json:"command,omitempty"` // as typed
	Host     Host             `json:"host"`
	Settings []string         `json:"settings"` // in the order of reports
	Plan     *dyno.Experiment `json:"plan"`

	Ended dyno.Ended `json:"ended,omitempty"` // why fewer blocks were compared than the plan has; "" if they were not, or are not yet
	Alone string     `json:"alone,omitempty"` // why settings did not run side by side, though there are several; "" if they did

	Awake string `json:"awake,omitempty"` // since when, and why, loops kept the CPUs awake that the plan did not ask for; "" if none did

	Looked string `json:"looked,omitempty"` // what was chosen of the load, which the user had left open, and why; "" if nothing was

	Proof string `json:"proof,omitempty"` // that a dyno of this user wrote this file, see Dir.Proven; the last field
}

// A Host is the machine that a run was made on.
type Host struct {
	Name   string `json:"name"`
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Kernel string `json:"kernel,omitempty"`
	CPU    string `json:"cpu,omitempty"` // model
	CPUs   int    `json:"cpus"`          // that dyno may use
	Memory int64  `json:"memory-B,omitempty"`
	Go     string `json:"go,omitempty"` // of the go command, where there is one
}

// ErrExists is the error of Create for a directory that holds a run already.
var ErrExists = errors.New("holds a run already")

// ErrLocked is the error when another dyno is writing to the directory.
var ErrLocked = errors.New("another dyno is writing to it")

// A Dir is an open run directory. Only one process can have one open for
// writing; Read needs none.
type Dir struct {
	Path string
	Run  Run

	results *os.File
	done    map[int]*dyno.Result // by trial; the last result of a trial counts
	notes   []string
	lost    error // once Rescue has found the directory gone

	hidden   *strings.Replacer // keeps secrets out of what is written; nil if there are none
	unproven error             // why run.json was not written by this user's dyno, nil if it was
}

// Create makes a run directory at path, which must be free, and writes run.json.
func Create(path string, run Run) (*Dir, error) {
	if err := Free(path, ""); err != nil {
		return nil, err
	}
	return Make(path, run, nil)
}

// Make is Create where other files may be. secrets are values of the plan, by name, that are hidden whatever they look like.
func Make(path string, run Run, secrets map[string]string) (*Dir, error) {
	if err := os.MkdirAll(filepath.Join(path, trialsDir), 0o700); err != nil {
		return nil, fmt.Errorf("make run directory: %w", err)
	}
	d := &Dir{Path: path, Run: run, done: map[int]*dyno.Result{}}
	d.Run.Schema = schema
	if err := d.hide(secrets); err != nil {
		return nil, err
	}
	if err := d.openResults(); err != nil {
		return nil, err
	}
	if err := d.writeRun(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// hide replaces what looks like a credential in Run, from which all reports are made.
func (d *Dir) hide(secrets map[string]string) error {
	text, err := runText(&d.Run)
	if err != nil {
		return err
	}
	if d.hidden = hide(text, secrets); d.hidden != nil {
		d.Run, err = parseRun(filepath.Join(d.Path, runFile), replaced(text, d.hidden))
	}
	return err
}

// SetAlone and SetEnded keep what Run has of it. Results of trials that were side by side count no more: what is
// compared is measured in one way.
func (d *Dir) SetAlone(why string) error {
	d.Run.Alone = why
	d.dropBeside()
	return d.writeRun()
}

// SetAwake keeps what Run has of it.
func (d *Dir) SetAwake(why string) error {
	d.Run.Awake = why
	return d.writeRun()
}

func (d *Dir) dropBeside() {
	if d.Run.Alone != "" {
		maps.DeleteFunc(d.done, func(_ int, r *dyno.Result) bool { return r.Beside() })
	}
}

func (d *Dir) SetEnded(ended dyno.Ended) error {
	d.Run.Ended = ended
	return d.writeRun()
}

// Extend adds blocks to the plan of a run that came to its end. WritePlan keeps it.
func (d *Dir) Extend(blocks int) error {
	plan := d.Run.Plan
	if slices.ContainsFunc(d.Missing(), func(n int) bool { return d.done[n] == nil }) {
		return errors.New("the run is not complete (consider: --resume alone first)")
	}
	after := 0
	for _, r := range d.done {
		if r.Trial.For == "" {
			after = max(after, r.Trial.Block)
		}
	}
	return check.Extend(plan, after, blocks)
}

// WritePlan keeps what Extend changed.
func (d *Dir) WritePlan() error { return d.writeRun() }

func (d *Dir) writeRun() error {
	run := d.Run
	run.Proof = noProof
	text, err := runText(&run)
	if err != nil {
		return err
	}
	if text, d.unproven = prove(text); d.unproven != nil { // as without a home directory
		run.Proof = ""
		if text, err = runText(&run); err != nil {
			return err
		}
	}
	if most := safe.Run.Bytes; int64(len(text)) > most { // or it could not be read again
		return fmt.Errorf("the plan has %v, but dyno reads at most %v (consider: body_file for a large body)", dyno.Size(len(text)), dyno.Size(most))
	}
	return d.WriteFile(runFile, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// readSmall reads a file of a run directory as a whole.
func readSmall(path string) ([]byte, error) {
	f, err := safe.Of(path).Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

func runText(run *Run) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(run)
	return b.Bytes(), err
}

// Proven returns an error unless a dyno of this user wrote the run.json: another author of a run
// directory does not have the key. A resumed run needs no proof, as the user vouches for it with
// dyno run --resume.
func (d *Dir) Proven() error { return d.unproven }

// NewPath makes an empty directory below dyno-runs for Create, named after the run
// and the time. Two runs that begin in the same second get different ones.
func NewPath(name string, started time.Time) (string, error) {
	clean := func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r)) {
			return r
		}
		return '-'
	}
	first := filepath.Join("dyno-runs", strings.Map(clean, name)+"-"+started.Format("20060102-150405"))
	if err := os.MkdirAll(filepath.Dir(first), 0o777); err != nil {
		return "", fmt.Errorf("make run directory: %w (consider: --out)", err)
	}
	path := first
	for i := 2; ; i++ {
		err := os.Mkdir(path, 0o700)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("make run directory: %w (consider: --out)", err)
		}
		path = fmt.Sprintf("%s-%d", first, i)
	}
}

// Resume opens a run directory to add results, in the present format. It removes a line that
// a crash cut off.
func Resume(path string) (*Dir, error) {
	d, err := Read(path)
	if err != nil {
		return nil, err
	}
	if err := d.openResults(); err != nil {
		return nil, err
	}
	// Only now that the lock is held: results may have been added meanwhile.
	var good int64
	if d.done, good, d.notes, err = readResults(d.results); err == nil {
		err = d.results.Truncate(good)
	}
	d.dropBeside()
	if err == nil && (d.Run.Schema < shuffledSchema || d.unproven != nil) { // the results to come are of this schema, and of this user
		d.Run.Schema = max(d.Run.Schema, shuffledSchema)
		err = d.writeRun()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("resume %s: %w", path, err), d.Close())
	}
	return d, nil
}

// Read reads a run directory, also while it is being written. Notes says whether
// something was cut off.
func Read(path string) (*Dir, error) {
	file := filepath.Join(path, runFile)
	data, err := readSmall(file)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s does not exist", path)
		}
		return nil, fmt.Errorf("%s is not a run directory: it has no %s", path, runFile)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	run, err := parseRun(file, data)
	if err != nil {
		return nil, err
	}
	d := &Dir{Path: path, Run: run, unproven: proven(data)}
	f, err := safe.Of(resultsFile).Open(filepath.Join(path, resultsFile))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer f.Close()
	if d.done, _, d.notes, err = readResults(f); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	d.dropBeside()
	return d, nil
}

func parseRun(file string, data []byte) (Run, error) {
	var run struct {
		Run
		Plan json.RawMessage `json:"plan"`
	}
	if err := json.Unmarshal(data, &run); err != nil {
		return Run{}, fmt.Errorf("read %s: %w", file, err)
	}
	err := CheckSchema(filepath.Dir(file), run.Schema, run.Dyno)
	if err == nil {
		run.Run.Plan, err = plan.Parse(file, run.Plan)
	}
	if err == nil {
		run.Run.Plan.Shuffled = run.Schema <= shuffledSchema
		formerTraces(run.Run.Plan)
	}
	return run.Run, err
}

// formerTraces writes out what an older dyno left to its defaults: the numbers of trials follow from it.
func formerTraces(e *dyno.Experiment) {
	if e.WhySlow && e.TraceRepeats == 0 {
		ten := dyno.Duration(10 * time.Second)
		e.TraceRepeats, e.Trace = 6, cmp.Or(e.Trace, min(ten, cmp.Or(e.Load.Duration, ten)))
	}
}

func (d *Dir) openResults() error {
	f, err := os.OpenFile(filepath.Join(d.Path, resultsFile), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open run directory: %w", err)
	}
	os.Chmod(d.Path, 0o700) // of a folder that was there already; who may not do that cannot read it less than others
	if err := lock(f); err != nil {
		f.Close()
		return fmt.Errorf("run directory %s: %w", d.Path, err)
	}
	d.results = f
	return nil
}

// readResults returns the last result of each trial, and where the last whole line
// ends.
func readResults(r io.ReadSeeker) (done map[int]*dyno.Result, good int64, notes []string, err error) {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, 0, nil, err
	}
	done = map[int]*dyno.Result{}
	in := bufio.NewReaderSize(r, readBuffer)
	var text []byte
	for line := 1; ; line++ {
		if text, err = readLine(in, text[:0]); err == io.EOF && len(text) == 0 {
			return done, good, nil, nil
		}
		res, wrong := new(dyno.Result), error(nil)
		if err == nil {
			wrong = json.Unmarshal(text, res)
		}
		switch {
		case err != nil && err != io.EOF:
			return nil, 0, nil, fmt.Errorf("%s line %d: %w", resultsFile, line, err)
		case err == io.EOF || wrong != nil && last(in):
			notes = append(notes, fmt.Sprintf("%s: its last line was cut off and is left out", resultsFile))
			return done, good, notes, nil
		case wrong != nil:
			return nil, 0, nil, fmt.Errorf("%s line %d: %w (consider: delete this line; its trial then runs again)", resultsFile, line, wrong)
		}
		done[res.Trial.N] = res
		good += int64(len(text))
	}
}

// mostLine is more than a result takes, in bytes.
const mostLine = 32 << 20

// readLine appends a line with its end. The error is io.EOF if it has none.
func readLine(in *bufio.Reader, line []byte) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); err != bufio.ErrBufferFull {
			return line, err
		}
		if len(line) > mostLine {
			return line, fmt.Errorf("is longer than %v, so dyno did not write it", dyno.Size(mostLine))
		}
	}
}

// last reports whether nothing follows.
func last(in *bufio.Reader) bool {
	_, err := in.Peek(1)
	return err != nil
}

// Close gives up the lock.
func (d *Dir) Close() error {
	if d.results == nil {
		return nil
	}
	return d.results.Close()
}

// Notes says what was wrong with the directory when it was opened.
func (d *Dir) Notes() []string { return d.notes }

// WriteFile writes a file of the run directory. A reader, or a crash, finds either
// the old content or the new.
func (d *Dir) WriteFile(name string, write func(io.Writer) error) error {
	path := filepath.Join(d.Path, name)
	if err := Replace(path, write); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Replace writes a file beside path, syncs it and renames it, so that a reader, or a crash, finds
// either the old content or the new. It removes what a dyno that was killed meanwhile has left.
func Replace(path string, write func(io.Writer) error) error {
	beside := "." + filepath.Base(path) + "."
	removeLeft(filepath.Dir(path), beside)
	f, err := os.CreateTemp(filepath.Dir(path), beside+"*")
	if err != nil {
		return err
	}
	lock(f) // where there are none, age alone tells what was left
	b := bufio.NewWriter(f)
	if err = write(b); err == nil {
		err = b.Flush()
	}
	if err == nil {
		err = f.Chmod(0o600)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// leftAge is how old a file is that can have been left: its writer has locked it by then.
const leftAge = time.Second

// removeLeft removes the files of names that begin so, if nobody holds their locks.
func removeLeft(dir, begin string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), begin) || !info.Mode().IsRegular() || time.Since(info.ModTime()) < leftAge {
			continue
		}
		path := filepath.Join(dir, e.Name())
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		if lock(f) == nil {
			os.Remove(path)
		}
		f.Close()
	}
}
