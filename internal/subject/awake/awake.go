// Package awake keeps the CPUs of a virtual machine awake while dyno measures.
//
// When a CPU of a virtual machine has nothing to do it sleeps, and a busy host may wake it late: that shows as steal,
// as a late generator, and in every percentile. A loop that runs almost only where nothing else wants to (the policy
// SCHED_IDLE of sched(7)) leaves it no reason to sleep. There is one for each CPU that dyno may use. They are in a
// control group whose cpu.idle is 1, where one can be made (cgroup-v2.rst): else, against other control groups, they
// would be more than nothing.
//
// The loops end with dyno, also by kill -9. A program that uses the package must call [Main] at the beginning of main,
// after guard.Main.
package awake

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/cgroup"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// StealSeen is the share of the CPUs' time withheld by the hypervisor from which on loops run. A p99 is disturbed by as much
// (doc/method/capacity.md).
const StealSeen = 0.005

// A Keeper keeps the CPUs of this machine awake once it is needed. Nil never does. Several goroutines may use one.
type Keeper struct {
	start func() (*guard.Tree, error)

	mu    sync.Mutex
	tree  *guard.Tree
	since string
	ended bool // or it cannot
}

// For returns a keeper for the runs of a plan that was checked, or nil. A keeper that the plan asks for begins at once. Any other begins after the first
// trial that was withheld time. Only subjects that dyno launches here have one: their control group is that of the loops, or beside it. Services
// elsewhere would lose time to the loops.
func For(e *dyno.Experiment) (*Keeper, error) {
	if e.Awake != nil && !*e.Awake || !e.LaunchedHere() {
		return nil, nil
	}
	apart := slices.ContainsFunc(e.Levels(), func(s dyno.Setting) bool { return e.Trial(s).Grouped })
	k := &Keeper{start: func() (*guard.Tree, error) {
		if quota := cgroup.CPUs("/proc"); !math.IsInf(quota, 1) {
			return nil, fmt.Errorf("dyno may use %.3g CPUs (the limit of its control group), and loops would take them", quota)
		}
		return start(apart)
	}}
	if e.Awake == nil {
		return k, nil
	}
	if _, err := k.begin(""); err != nil {
		return nil, fmt.Errorf("keep the CPUs awake: %w (consider: --awake=false)", err)
	}
	return k, nil
}

// Saw begins the loops if a trial was withheld time, and says since when they run; "" if they do not, or ran before. Where they
// cannot run nothing changes: trials have their warnings.
func (k *Keeper) Saw(r *dyno.Result) (since string) {
	steal, known := r.Values.Get("steal-frac")
	if k == nil || !known || steal < StealSeen {
		return ""
	}
	since = fmt.Sprintf("begun after trial %d, in which the hypervisor withheld %.1f %% of the time", r.Trial.N, 100*steal)
	if began, err := k.begin(since); err != nil || !began {
		return ""
	}
	return since
}

// Resume begins the loops for a run in which they ran before, as since says.
func (k *Keeper) Resume(since string) error {
	if k == nil || since == "" {
		return nil
	}
	_, err := k.begin(since)
	return err
}

// Since says since when loops run that were not asked for; "" if there are none.
func (k *Keeper) Since() string {
	if k == nil {
		return ""
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.since
}

func (k *Keeper) begin(since string) (began bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tree != nil || k.ended {
		return false, nil
	}
	if k.tree, err = k.start(); err != nil {
		k.tree, k.ended = nil, true
		return false, err
	}
	k.since = since
	return true, nil
}

// Stop ends the loops, for good, and reports whether they had ended before.
func (k *Keeper) Stop() (broke bool) {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended = true; k.tree == nil {
		return false
	}
	select {
	case <-k.tree.Done:
		broke = true
	default:
	}
	k.tree.Stop(0)
	return broke
}

// ready is what the maker of loops writes when all of them run, and patience how long that may take.
const (
	ready    = "awake\n"
	patience = 10 * time.Second
)

// start starts the loops in a control group of their own or, unless they have to be apart, in that of dyno. They run when it returns.
func start(apart bool) (*guard.Tree, error) {
	cpus := guard.PinnedCPUs(math.MaxInt)
	if len(cpus) == 0 {
		return nil, errors.New("it is unknown which CPUs dyno may use")
	}
	args := []string{name}
	for _, cpu := range cpus {
		args = append(args, strconv.Itoa(cpu))
	}
	job := guard.Job{
		Path: self, Args: args, Dir: "/", Env: environ(),
		Confine: &guard.Confinement{Limits: cgroup.Limits{Idle: true}, Name: "cpu.idle", Proc: "/proc"},
	}
	tree, err := run(job)
	if err != nil && !apart {
		job.Confine = nil
		tree, err = run(job)
	}
	return tree, err
}

// run starts a maker of loops, and waits until they run.
func run(job guard.Job) (*guard.Tree, error) {
	var said strings.Builder // what went wrong; read when the tree is done
	runs := make(chan struct{}, 1)
	tree, err := guard.Start(job, guard.IO{Stdout: writer(func(p []byte) {
		if string(p) == ready {
			runs <- struct{}{}
		}
	}), Stderr: writer(func(p []byte) { said.Write(p) })})
	if err != nil {
		return nil, err
	}
	select {
	case <-runs:
		return tree, nil
	case <-tree.Done:
	case <-time.After(patience):
		tree.Stop(0)
	}
	return nil, fmt.Errorf("the loops do not run: %s", cmp.Or(strings.TrimSpace(said.String()), tree.Status))
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

// environ returns the environment of the loops, without any variable of dyno. Without preemption there is no
// signal every 10 ms.
func environ() []string {
	return []string{"GOMAXPROCS=1", "GOGC=off", "GODEBUG=asyncpreemptoff=1", "PATH=" + os.Getenv("PATH")}
}

// name is under which name dyno's own executable is started to make the loops, and is one, with their CPUs as arguments.
const name = "dyno-awake"

// Main is the main of what keeps CPUs awake. Otherwise it returns at once.
func Main() {
	if len(os.Args) < 2 || os.Args[0] != name {
		return
	}
	var cpus []int
	for _, arg := range os.Args[1:] {
		cpu, err := strconv.Atoi(strings.TrimPrefix(arg, "on-"))
		if err != nil {
			os.Exit(2)
		}
		cpus = append(cpus, cpu)
	}
	if strings.HasPrefix(os.Args[1], "on-") {
		loop()
	}
	if err := loops(cpus); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// loop never ends. Each division needs the one before, so most of the core is left to a thread beside it (SMT).
func loop() {
	for x := uint64(math.MaxUint64); ; {
		x = math.MaxUint64 / (x | 1)
		if x == 0 { // which it never is: the division must not be left out
			os.Exit(1)
		}
	}
}
