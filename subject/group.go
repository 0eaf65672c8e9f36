package subject

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A job is what one supervisor does: make a private directory, run a program
// and all that the program starts, and remove the directory.
type job struct {
	Path    string // of the executable; "" runs nothing
	Args    []string
	Env     []string
	Dir     string
	Scratch string // directory to make, and to remove in the end; "" is none

	Confine *confinement // the program's control group; nil is dyno's own

	CPUs   []int // that the program and what it starts are pinned to, where the system can; none means that they are not
	Direct bool  // direct is given

	direct         *os.File  // the program's standard output itself, instead of stdout; the caller closes it
	stdout, stderr io.Writer // called by one goroutine, once per write(2) of the program; nil discards
	held           *os.File  // given to the supervisor, which does nothing with it: it is open as long as the supervisor lives
}

// A group is a program and all of its descendants, none of which outlives dyno.
type group struct {
	pid    int           // of the program
	done   chan struct{} // closed when no process is left, all output is written and the paths are removed
	status string        // how the program ended, as os/exec says it; valid when done is closed
	alone  bool          // it ended before it was asked to; valid when done is closed
	memory memoryEnd     // of its control group; valid when done is closed
	impl   groupImpl
	once   sync.Once // closes impl
}

// stop ends the group and returns when nothing is left of it. With a grace
// time it asks by SIGTERM first.
func (g *group) stop(grace time.Duration) {
	if grace > 0 {
		g.impl.terminate(grace)
		<-g.done
	}
	g.once.Do(g.impl.kill)
	<-g.done
}

// remove adds a path, which need not exist, to what is removed in the end.
func (g *group) remove(path string) { g.impl.remove(path) }

// mainCalled says that Main is in this program's main, so that starting the
// program once more gives a supervisor and not another dyno.
var mainCalled atomic.Bool
