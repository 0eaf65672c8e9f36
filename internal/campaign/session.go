package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/findings/receipts"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/store"
)

// ErrChanged is the error of a session that is not asked for what an earlier session did.
var ErrChanged = errors.New("dyno, the plan or the environment has changed")

// enter takes the directory of a question for this session, until leave is called: that of a record that is resumed, path if that is free, or
// a new one below dyno-runs.
func (c *Campaign) enter(r *store.Record, path string) (dir string, leave func(), err error) {
	fresh := r.Dir() == ""
	switch {
	case !fresh:
		path = r.Dir()
	case path == "":
		if path, err = store.NewPath(r.Plan.Name+"-"+r.Question, time.Now()); err != nil {
			return "", nil, err
		}
	default:
		if err := store.Free(path, ""); err != nil {
			return "", nil, err
		}
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", nil, err
	}
	if leave, err = r.Claim(path); err != nil {
		return "", nil, err
	}
	if fresh { // another dyno may have been quicker
		if err := store.Free(path, ""); err != nil {
			leave()
			return "", nil, err
		}
	}
	c.record, c.asked, c.answered, c.known = r, 0, 0, len(r.Steps)
	return path, leave, nil
}

// open is Open for a campaign: subjects stay on the node of earlier sessions.
func (c *Campaign) open(ctx context.Context, e *dyno.Experiment) error {
	if e.On.Kubernetes != nil && c.record.Dir() != "" {
		own := *e
		runs, _ := os.ReadDir(c.record.Dir())
		for _, run := range runs {
			if dir, err := store.Read(filepath.Join(c.record.Dir(), run.Name())); err == nil {
				Stay(&own, dir.Brief())
			}
		}
		if dir, err := store.Read(c.record.Dir()); err == nil {
			Stay(&own, dir.Brief())
		}
		e = &own
	}
	return c.Open(ctx, e)
}

// keepRecord begins the record of a question, whose subjects are built. One that is resumed has to be of the same program.
func (c *Campaign) keepRecord(ctx context.Context, dir string, e *dyno.Experiment) (err error) {
	r, sum := c.record, ""
	if c.hands != nil && c.hands.Sum != nil { // of benchmarks each run knows its own
		if sum, err = c.hands.Sum(ctx, e.Trial(e.Levels()[0]).Subject); err != nil {
			return err
		}
	}
	if r.Dir() == "" {
		r.Dyno, r.Started, r.Command, r.Sum = c.Version, time.Now(), os.Args, sum
		return r.Create(dir)
	}
	if r.Sum != "" && sum != "" && r.Sum != sum {
		return fmt.Errorf("resume %s: the program is not the one that was measured there (consider: its source as it was, or a new dyno %s)", fromHere(dir), r.Question)
	}
	if r.Dyno != c.Version {
		c.Note("%s was begun by dyno %s, and is resumed by %s", fromHere(dir), r.Dyno, c.Version)
	}
	return nil
}

// before is the step that an earlier session did at this point, nil if this is the first to do it. Who can use it adds to answered.
func (c *Campaign) before(name string) (*store.Step, error) {
	if c.asked == c.known {
		return nil, nil
	}
	s := &c.record.Steps[c.asked]
	if c.asked++; s.Name != name {
		return nil, c.changed("its step %d was %s, and would now be %s", c.asked, s.Name, name)
	}
	return s, nil
}

func (c *Campaign) changed(format string, args ...any) error {
	return fmt.Errorf("resume %s: %s: %w (consider: a new dyno %s)", fromHere(c.record.Dir()), fmt.Sprintf(format, args...), ErrChanged, c.record.Question)
}

// did keeps a step that is done.
func (c *Campaign) did(name string, took time.Duration, seen any) error {
	s := store.Step{Name: name, Took: took.Seconds()}
	if seen != nil {
		var err error
		if s.Seen, err = json.Marshal(seen); err != nil {
			return err
		}
	}
	return c.record.Add(s)
}

// lacks is an error if this session did not get as far as an earlier one, whose answer stays. failed is why.
func (c *Campaign) lacks(failed error) error {
	if c.answered == c.known {
		return nil
	}
	if failed == nil {
		failed = c.changed("its step %d was %s, and is not asked for", c.answered+1, c.record.Steps[c.answered].Name)
	}
	return failed
}

// conclude keeps an answer: as JSON, as a page, as a receipt, and in a sentence. It is the last if nothing failed, this included.
func (c *Campaign) conclude(a Answer, failed error) error {
	write := func(name string, write func(w io.Writer) error) {
		failed = errors.Join(failed, store.Replace(filepath.Join(c.record.Dir(), name), write))
	}
	write(c.record.Question+".json", func(w io.Writer) error { return report.JSON(w, a.Document()) })
	write(store.AnswerFile, a.HTML)
	if failed == nil {
		failed = receipts.Of(c.record.Dir(), a)
	}
	return errors.Join(failed, c.record.Conclude(a.First(), failed == nil))
}

// fromHere is a path relative to the working directory, if it lies below that.
func fromHere(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
