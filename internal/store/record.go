package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan"
	"github.com/dynolab/dyno/internal/safe"
)

// RecordFile is the file of a campaign's directory that says what was asked, and how far it is.
const RecordFile = "campaign.json"

// AnswerFile is the page with the answer, in the directory of a campaign.
const AnswerFile = "answer.html"

const recordSchema = 1

// A Record is campaign.json. A campaign that was cut off goes on with it.
type Record struct {
	Schema   int                 `json:"schema"`
	Dyno     string              `json:"dyno"` // version of dyno
	Started  time.Time           `json:"started"`
	Command  []string            `json:"command,omitempty"` // as typed
	Question string              `json:"question"`          // the subcommand, such as tune
	Flags    map[string][]string `json:"flags,omitempty"`   // of the question alone, as given
	Typed    []string            `json:"typed,omitzero"`    // flags that were typed, those of the plan too; others come from the environment. Nil: a dyno of before, which does not say it
	Plan     *dyno.Experiment    `json:"plan"`              // as asked; one that was read has placeholders for secrets
	Sum      string              `json:"sum,omitempty"`     // of the baseline's executable, as in results.jsonl; "" if it is not known
	Steps    []Step              `json:"steps,omitempty"`   // that are done, in order
	Answer   string              `json:"answer,omitempty"`  // in a sentence, so far
	Done     bool                `json:"done,omitempty"`    // it is the last

	dir   string
	given map[string]string // to Reveal
}

// A Step is a part of a campaign that is done.
type Step struct {
	Name string          `json:"name"`
	Took float64         `json:"took-sec"`
	Seen json.RawMessage `json:"seen,omitempty"` // what the question has to know of it, unless a run directory has it
}

// Create writes the record of a new campaign into its directory, and makes that.
func (r *Record) Create(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of a campaign: %w", err)
	}
	r.Schema, r.dir = recordSchema, dir
	return r.write()
}

// Add keeps a step that is done.
func (r *Record) Add(s Step) error {
	r.Steps = append(r.Steps, s)
	return r.write()
}

// Conclude keeps the answer in a sentence, and whether it is the last.
func (r *Record) Conclude(answer string, done bool) error {
	r.Answer, r.Done = answer, done
	return r.write()
}

// WasTyped reports whether a flag was typed when the campaign began.
func (r *Record) WasTyped(name string) bool {
	if r.Typed == nil {
		return r.Flags[name] != nil
	}
	return slices.Contains(r.Typed, name)
}

// Dir is the directory of the campaign.
func (r *Record) Dir() string { return r.dir }

// write keeps what looks like a credential out, as Dir does.
func (r *Record) write() error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return err
	}
	text := b.Bytes()
	if h := hide(text, r.given); h != nil {
		text = replaced(text, h)
	}
	path := filepath.Join(r.dir, RecordFile)
	if err := Replace(path, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// ReadRecord reads the record of a campaign of some question from its directory.
func ReadRecord(dir, question string) (*Record, error) {
	file := filepath.Join(dir, RecordFile)
	var r struct {
		Record
		Plan json.RawMessage `json:"plan"`
	}
	if err := safe.ReadJSON(file, &r); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not the directory of a campaign: it has no %s", dir, RecordFile)
	} else if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	err := CheckRecord(file, r.Schema, r.Dyno)
	if err != nil {
		return nil, err
	}
	if r.Question != question {
		return nil, fmt.Errorf("%s is of dyno %s (consider: dyno %[2]s --resume %[3]s)", file, r.Question, dir)
	}
	r.Record.Plan, err = plan.Parse(file, r.Plan)
	r.Record.dir = dir
	return &r.Record, err
}

// CheckRecord returns an error if a campaign.json has a schema that this dyno cannot read; version is that of the dyno that wrote it.
func CheckRecord(file string, found int, version string) error {
	if found != recordSchema {
		return fmt.Errorf("%s has schema %d, but this dyno knows %d (consider: the dyno that wrote it, %s)", file, found, recordSchema, version)
	}
	return nil
}

// CampaignOf returns the directory of the campaign that the run at path is of, which is path itself or the one around it, and the arguments of
// dyno that resume it. Both are "" if the run is of no campaign; a run of dyno track is made anew, which resume says.
func CampaignOf(path string) (dir, resume string) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", ""
	}
	for _, dir := range []string{path, filepath.Dir(abs)} {
		switch question := questionOf(dir); question {
		case "":
		case neverResumed:
			return dir, question + " add"
		default:
			return dir, question + " --resume " + dir
		}
	}
	return "", ""
}

// neverResumed is the question whose runs are short, and begin anew.
const neverResumed = "track"

// questionOf is the question of the campaign in a directory; "" if there is none.
func questionOf(dir string) string {
	var r struct{ Question string }
	if safe.ReadJSON(filepath.Join(dir, RecordFile), &r) != nil {
		return ""
	}
	return r.Question
}

// Claim takes the directory of a campaign for this process, until leave is called, and makes it if there is none. It reads again what another
// process has done since the record was read, and dir is its directory from now on. leave removes the directory
// if this process made it and the record was not created.
func (r *Record) Claim(dir string) (leave func(), err error) {
	_, err = os.Stat(dir)
	made := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of a campaign: %w", err)
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err = lock(f); !errors.Is(err, ErrLocked) { // some file systems cannot lock a directory
		err = r.refresh(dir)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("directory %s: %w", dir, err)
	}
	return func() {
		if made && r.dir == "" {
			os.Remove(dir) // if it is empty
		}
		f.Close()
	}, nil
}

// refresh reads again what sessions change.
func (r *Record) refresh(dir string) error {
	if r.dir == "" {
		return nil
	}
	now, err := ReadRecord(dir, r.Question)
	if err == nil {
		r.Steps, r.Answer, r.Done, r.dir = now.Steps, now.Answer, now.Done, dir
	}
	return err
}

// Hidden are the names of the values that the plan has placeholders for.
func (r *Record) Hidden() []string { return placeholders(r.Plan) }

// Reveal returns the plan with values, by name, in place of its placeholders. They stay hidden in the file.
func (r *Record) Reveal(values map[string]string) (*dyno.Experiment, error) {
	if len(values) == 0 {
		return r.Plan, nil
	}
	r.given = values
	return revealed(filepath.Join(r.dir, RecordFile), r.Plan, values)
}

// Moved puts the present directory of a campaign in place of a former one in the settings of a run. If the run is open for results, its files
// have the new settings, too.
func (d *Dir) Moved(from, to string) error {
	moved := func(s dyno.Setting) dyno.Setting {
		s = slices.Clone(s)
		for i := range s {
			s[i].Value = strings.ReplaceAll(s[i].Value, from, to)
		}
		return s
	}
	for i, s := range d.Run.Settings {
		d.Run.Settings[i] = strings.ReplaceAll(s, from, to)
	}
	for i, s := range d.Run.Plan.Settings {
		d.Run.Plan.Settings[i] = moved(s)
	}
	for _, r := range d.done {
		r.Trial.Setting = moved(r.Trial.Setting)
	}
	if d.results == nil {
		return nil
	}
	err := d.WritePlan()
	for _, r := range d.Brief() {
		if err == nil {
			err = d.add(r) // the last result of a trial counts
		}
	}
	return err
}
