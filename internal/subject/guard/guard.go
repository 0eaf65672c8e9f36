// Package guard runs programs so that no process of theirs outlives dyno.
//
// On Linux each program has a supervisor: dyno's own executable in a session of its own. When dyno
// ends, even by kill -9, it kills all descendants of the program, and removes its control group and
// directories. On other systems dyno does that itself, if it gets to it, and a child that left its
// process group survives.
//
// A program that uses it must call [Main] first thing in main.
package guard

import (
	"context"
	"crypto/rand"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dynolab/dyno/internal/cgroup"
)

// A Job is a program to run, with the resources that are made for it and removed in the end.
type Job struct {
	Path    string            // of the executable, absolute; "" runs nothing until the Tree is stopped
	Args    []string          // with the name of the program
	Env     []string          // complete
	Dir     string            // absolute
	Scratch []string          // directories to make, and to remove with all that is in them in the end; absolute
	Files   map[string]string // to write into Scratch, by their absolute paths, before the program starts
	CPUs    []int             // on Linux, the program and what it starts are pinned to these; none means all
	Confine *Confinement

	// User, if not nil, runs the program and owns Scratch and Files. Only root can say so, and only on Linux.
	User *User

	// Quit is sent to the program before all of the tree is killed, which then has some seconds to end: SIGQUIT, by which a
	// database server ends at once and leaves nothing in the kernel. What the program has started gets no signal. 0
	// means that all are killed at once.
	Quit syscall.Signal

	// Last is a command that runs once no process is left, however that came: it removes what processes do not hold, such as
	// a container. Its first word is an absolute path.
	Last []string

	Ledger string // Start's own
}

// lastTime bounds Job.Last.
const lastTime = 20 * time.Second

// runLast runs Job.Last. What it says does not matter: mostly there is nothing to remove.
func runLast(argv []string) {
	if len(argv) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second
	cmd.Run()
}

// A User is a user of this machine and its group, as numbers.
type User struct{ UID, GID uint32 }

// A Confinement asks for a control group for the program; nil leaves it in dyno's.
type Confinement struct {
	Limits  cgroup.Limits
	Name    string // of the limits, for errors: "cpu=0.5,memory=64MiB"; "" if there are none
	Proc    string // where control groups are listed: "/proc"; tests have others
	Systemd string // path of systemd-run; "" if there is none
}

// IO says where the output of a program goes. The zero value discards it.
type IO struct {
	// Stdout and Stderr are called by one goroutine, on Linux once for each write(2) of the program
	// (at most 4096 bytes). They must not keep the slice.
	Stdout, Stderr io.Writer

	File *os.File // File, if not nil, is the program's standard output itself. The caller closes it.

	Before *Tree // Before, on Linux, is a Tree without a program that ends after this one
}

// A Tree is a program and all of its descendants. It must be stopped.
type Tree struct {
	PID  int           // of the program
	Done chan struct{} // closed when no process is left, all output is written and the directories are removed

	ending // valid when Done is closed

	// Broken, valid when Done is closed, says how the supervisor ended, and with it the program; "" if
	// as it should. What one without a program was to remove stays until Collect.
	Broken string

	supervision
}

// An ending says how the program of a Tree ended.
type ending struct {
	Status string           // as os/exec says it
	Alone  bool             // before it was asked to
	Memory cgroup.MemoryEnd // of its control group
}

// quitGrace is how long the program and what it started have after Job.Quit. Postgres takes some 10 ms on a machine
// that has time.
const quitGrace = 10 * time.Second

// StatusOK is the Status of a program that ended well.
const StatusOK = "exit status 0"

// Stop ends the tree and waits for its end. With a grace time it sends SIGTERM first.
func (t *Tree) Stop(grace time.Duration) {
	if grace > 0 {
		t.terminate(grace)
		<-t.Done
	}
	t.Kill()
	<-t.Done
}

// Run runs a program to its end and returns how it ended, as os/exec says it. If ctx ends first,
// the program is killed and the error is the context's cause. Other errors say why it did not
// start.
func Run(ctx context.Context, j Job, o IO) (status string, err error) {
	t, err := Start(j, o)
	if err != nil {
		return "", err
	}
	defer t.Stop(0)
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-t.Done:
		return t.Status, nil
	}
}

func (j *Job) writeFiles() error {
	for path, text := range j.Files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	if j.User == nil {
		return nil
	}
	for _, dir := range j.Scratch {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, int(j.User.UID), int(j.User.GID))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// TempName returns a new path in dir.
func TempName(dir string) string {
	return filepath.Join(dir, "dyno-"+strings.ToLower(rand.Text()[:10]))
}

// remove deletes a file or a directory with all that is in it, directories that the program made
// unwritable too.
func remove(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	filepath.WalkDir(path, func(p string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			os.Chmod(p, 0o700) // WalkDir reads it after this call
		}
		return nil
	})
	return os.RemoveAll(path)
}

// mainCalled: without Main, starting this executable again would give another dyno.
var mainCalled atomic.Bool
