package needs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// A seed is what a server has in the beginning, as a directory that is copied for each.
type seed struct {
	dir     string
	program string
	engine  *engine // nil: the program is installed
	home    string  // of the subject, where fill runs

	mu     sync.Mutex
	spares []string // copies that no server has now
}

// take returns a copy that no server has; "" if there is none.
func (s *seed) take() (data string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.spares); n > 0 {
		data, s.spares = s.spares[n-1], s.spares[:n-1]
	}
	return data
}

func (s *seed) give(data string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spares = append(s.spares, data)
}

// filler is a kind whose seed is a directory.
type filler interface {
	kind
	fill(ctx context.Context, k *Keeper, name string, need *dyno.Need, s *seed, user *guard.User) error
}

// seedOf makes a need's seed, or finds the one that was made of the same program and files. The caller holds mu.
func (k *Keeper) seedOf(ctx context.Context, name string, need *dyno.Need, dir string) (*seed, error) {
	kind := kindOf(need).(filler)
	_, conf := need.Kind()
	program, engine, err := k.programOf(ctx, need)
	if err != nil {
		return nil, err
	}
	parts := []string{program, need.Image, strconv.FormatBool(engine != nil)}
	for _, file := range conf.Seed {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, seedMistake(name, err)
		}
		parts = append(parts, file, string(text))
	}
	key := sumOf(append(parts, need.Fill...)...)
	if _, err := k.root(); err != nil {
		return nil, err
	}
	if s := k.seeds[key]; s != nil {
		return s, nil
	}
	user, err := userOf(need, kind)
	if err != nil {
		return nil, err
	}
	s := &seed{program: program, engine: engine, home: dir}
	if s.dir, err = k.newDir("seed", user); err != nil {
		return nil, err
	}
	k.tell("seeding %s", name)
	began := time.Now()
	if err := kind.fill(ctx, k, name, need, s, user); err != nil {
		os.RemoveAll(s.dir)
		return nil, err
	}
	size := sizeOf(s.dir)
	k.tell("seeded %s: %.0f MB in %.1f s", name, float64(size)/1e6, time.Since(began).Seconds())
	k.seeds[key] = s
	return s, nil
}

// initialise runs a program that makes the data directory of a server.
func (k *Keeper) initialise(ctx context.Context, s *server, user *guard.User, argv ...string) error {
	var said strings.Builder
	job := guard.Job{Path: argv[0], Args: argv, Dir: s.dir, Env: os.Environ(), User: user, Quit: s.kind.quit()} // it may run the server, too
	if s.engine != nil {
		k.newBox(s.engine, "seed", s.need).contain(&job, user)
	}
	status, err := guard.Run(ctx, job, guard.IO{Stdout: &said, Stderr: &said, Before: k.guard})
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(argv[0]), err)
	}
	if status != guard.StatusOK {
		return fmt.Errorf("%s: %s\n%s", filepath.Base(argv[0]), status, tail(said.String(), 2000))
	}
	return nil
}

// during runs a server while do fills it. If that went well, it lets the server end in its own time, in which it writes all.
func (k *Keeper) during(ctx context.Context, s *server, job *guard.Job, user *guard.User, do func() error) (err error) {
	job.User, job.Quit = user, s.kind.quit()
	if s.engine != nil {
		s.box = k.newBox(s.engine, "seed", s.need)
		s.box.contain(job, user)
	}
	if s.tree, err = guard.Start(*job, guard.IO{Stdout: s.lines, Stderr: s.lines, Before: k.guard}); err != nil {
		return err
	}
	defer func() {
		grace := time.Minute
		if err != nil {
			grace = 0
		}
		s.tree.Stop(grace)
	}()
	if err := s.await(ctx); err != nil {
		return err
	}
	return do()
}

// filled runs the command that fills a server, or a part of a shared one.
func (s *server) filled(ctx context.Context, space, home string) error {
	if len(s.need.Fill) == 0 {
		return nil
	}
	data := s.data(s.addr, space)
	argv, err := expand(s.need.Fill, templateData(data, nil))
	if err != nil {
		return err
	}
	return runTool(ctx, argv, s.environment(data), home, "fill")
}

// sizeOf is how many bytes the files of a directory have.
func sizeOf(dir string) (bytes int64) {
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil
	})
	return bytes
}

func copyError(err error) error {
	cure := ""
	if errors.Is(err, syscall.ENOSPC) {
		cure = " (consider: TMPDIR on a disk with more room)"
	}
	return fmt.Errorf("copy its seed: %w%s", err, cure)
}
