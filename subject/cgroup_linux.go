package subject

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/prometheus/procfs"

	"github.com/dynolab/dyno"
)

// A cage is the control group that one program runs in: a directory, of version 1
// one in each controller's hierarchy, or a scope of systemd. The files that are
// named here are in Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/.
type cage struct {
	limits      dyno.Limits
	dirs        []string // made, and to be removed
	memory, cpu string   // those of them that have the controller; "" if none has
	scope       []string // the command that makes a scope and runs another in it; nil if there are dirs
}

const (
	memoryController = "memory"
	cpuController    = "cpu"
)

// needs reports whether a limit cannot be set without a controller.
func needs(l dyno.Limits, controller string) bool {
	return controller == memoryController && l.Memory > 0 || controller == cpuController && l.CPU > 0
}

// newCage makes a control group with the limits: directories or, where none can be
// made, a scope of systemd. env is the program's.
func newCage(asked *confinement, env []string) (*cage, error) {
	l := asked.Limits
	c := &cage{limits: l}
	err := c.make(asked.Proc)
	if err == nil {
		if err = c.limit(); err == nil {
			return c, nil
		}
		// The kernel does not like the limit: nobody else can set it.
		return nil, errors.Join(fmt.Errorf("cannot set the limit %s: %w", l, err), c.remove())
	}
	scope, failed := newScope(asked, env)
	if failed == nil {
		return scope, c.remove()
	}
	what := "the limit " + l.String()
	if l == (dyno.Limits{}) {
		what = "a control group, as other settings of this experiment have a limit"
	}
	return nil, errors.Join(fmt.Errorf("cannot set %s: %w; %w (consider: run dyno as root, or in a leaf of a cgroup v2 subtree that is yours and has cpu and memory in its cgroup.subtree_control, or where systemd-run --user --scope works)",
		what, err, failed), c.remove())
}

// A hierarchy is a mounted tree of control groups.
type hierarchy struct {
	controllers []string // of version 1; nil of version 2
	top         string   // where it is mounted
	own         string   // directory of the group that this process is in
}

// hierarchies lists those that this process can see its own group in.
func hierarchies(proc string) ([]hierarchy, error) {
	root, err := procfs.NewFS(proc)
	if err != nil {
		return nil, err
	}
	self, err := root.Self()
	if err != nil {
		return nil, err
	}
	groups, err := self.Cgroups()
	if err != nil {
		return nil, err
	}
	mounts, err := self.MountInfo()
	if err != nil {
		return nil, err
	}
	var found []hierarchy
	for _, g := range groups {
		for _, m := range mounts {
			path, visible := below(m.Root, g.Path)
			v1 := m.FSType == "cgroup" && len(g.Controllers) > 0 && mountHas(m, g.Controllers)
			v2 := m.FSType == "cgroup2" && len(g.Controllers) == 0
			if visible && (v1 || v2) {
				found = append(found, hierarchy{g.Controllers, m.MountPoint, filepath.Join(m.MountPoint, path)})
				break
			}
		}
	}
	return found, nil
}

func mountHas(m *procfs.MountInfo, controllers []string) bool {
	return !slices.ContainsFunc(controllers, func(c string) bool { _, ok := m.SuperOptions[c]; return !ok })
}

// below is the path of a group from the one that is mounted, which a container
// may see instead of the machine's.
func below(mounted, path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(mounted, "/"))
	return rest, ok && (rest == "" || rest[0] == '/') && !strings.HasPrefix(rest, "/..")
}

// make makes the directories. What a limit needs must be had; the other
// controller is welcome, so that all settings are accounted alike.
func (c *cage) make(proc string) error {
	all, err := hierarchies(proc)
	if err != nil {
		return fmt.Errorf("find control groups: %w", err)
	}
	name := filepath.Base(scratchName("/"))
	var failed error
	var unified []string // controllers that are not in a hierarchy of version 1
	for _, controller := range []string{memoryController, cpuController} {
		i := slices.IndexFunc(all, func(h hierarchy) bool { return slices.Contains(h.controllers, controller) })
		if i < 0 {
			unified = append(unified, controller)
		} else if err := c.mkdir(filepath.Join(all[i].own, name), controller); err != nil {
			if failed = err; needs(c.limits, controller) {
				return err
			}
		}
	}
	if len(unified) > 0 {
		if err := c.makeUnified(all, name, unified); err != nil {
			if failed = err; slices.ContainsFunc(unified, func(controller string) bool { return needs(c.limits, controller) }) {
				return err
			}
		}
	}
	if len(c.dirs) == 0 {
		return failed
	}
	return nil
}

// makeUnified makes a group of version 2, with all of the controllers or, if that
// cannot be, those that are needed.
func (c *cage) makeUnified(all []hierarchy, name string, controllers []string) error {
	i := slices.IndexFunc(all, func(h hierarchy) bool { return h.controllers == nil })
	if i < 0 {
		return fmt.Errorf("no control groups with the controllers %s are mounted", strings.Join(controllers, " and "))
	}
	parent, err := all[i].parent(controllers)
	needed := slices.DeleteFunc(slices.Clone(controllers), func(controller string) bool { return !needs(c.limits, controller) })
	if err != nil && len(needed) > 0 && len(needed) < len(controllers) {
		controllers = needed
		parent, err = all[i].parent(controllers)
	}
	if err != nil {
		return err
	}
	return c.mkdir(filepath.Join(parent, name), controllers...)
}

// parent finds the nearest group, from this process's own upwards, that gives
// controllers to the groups below it, or else can be made to. In version 2 one
// that has processes cannot, unless it is the machine's root ("no internal
// processes"). A controller that was switched on stays so: others may use it by now.
func (h *hierarchy) parent(controllers []string) (dir string, err error) {
	var tried []string
	for _, enable := range []bool{false, true} {
		for dir := h.own; ; dir = filepath.Dir(dir) {
			err := offer(dir, controllers, enable)
			if err == nil {
				return dir, nil
			} else if enable {
				tried = append(tried, fmt.Sprintf("%s: %v", dir, err))
			}
			if len(dir) <= len(h.top) {
				break
			}
		}
	}
	return "", fmt.Errorf("no group can have groups with the controllers %s below it (%s)", strings.Join(controllers, " and "), strings.Join(tried, ", "))
}

// offer returns nil if groups below dir have the controllers and processes may be
// moved from here to there.
func offer(dir string, controllers []string, enable bool) error {
	for _, path := range []string{dir, filepath.Join(dir, "cgroup.procs")} {
		if err := unix.Access(path, unix.W_OK); err != nil {
			return err
		}
	}
	file := filepath.Join(dir, "cgroup.subtree_control")
	text, err := os.ReadFile(file)
	if err != nil {
		return bare(err)
	}
	on := strings.Fields(string(text))
	for _, controller := range controllers {
		if slices.Contains(on, controller) {
			continue
		}
		if !enable {
			return errors.New("it has no " + controller)
		}
		if err := write(file, "+"+controller); err != nil {
			return fmt.Errorf("+%s: %w", controller, err)
		}
	}
	return nil
}

// mkdir makes a group, unless it was made for another controller of the same
// hierarchy.
func (c *cage) mkdir(dir string, controllers ...string) error {
	if !slices.Contains(c.dirs, dir) {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("make a control group in %s: %w", filepath.Dir(dir), bare(err))
		}
		c.dirs = append(c.dirs, dir)
	}
	for _, controller := range controllers {
		if controller == memoryController {
			c.memory = dir
		} else {
			c.cpu = dir
		}
	}
	return nil
}

// quotaPeriod is the kernel's usual one, in µs.
const quotaPeriod = 100_000

// limit writes the limits into the group.
func (c *cage) limit() error {
	if c.limits.Memory > 0 {
		bytes := strconv.FormatInt(int64(c.limits.Memory), 10)
		if exists(filepath.Join(c.memory, "memory.max")) {
			if err := write(filepath.Join(c.memory, "memory.max"), bytes); err != nil {
				return fmt.Errorf("memory.max: %w", err)
			}
			return errors.Join(optional(filepath.Join(c.memory, "memory.swap.max"), "0"), c.limitCPU())
		}
		if err := write(filepath.Join(c.memory, "memory.limit_in_bytes"), bytes); err != nil {
			return fmt.Errorf("memory.limit_in_bytes: %w", err)
		}
		// Memory and swap together, where the kernel accounts swap; else no wish to swap.
		err := errors.Join(optional(filepath.Join(c.memory, "memory.memsw.limit_in_bytes"), bytes), optional(filepath.Join(c.memory, "memory.swappiness"), "0"))
		if err != nil {
			return err
		}
	}
	return c.limitCPU()
}

func (c *cage) limitCPU() error {
	if c.limits.CPU == 0 {
		return nil
	}
	quota := strconv.Itoa(int(float64(c.limits.CPU)*quotaPeriod + 0.5))
	if exists(filepath.Join(c.cpu, "cpu.max")) {
		if err := write(filepath.Join(c.cpu, "cpu.max"), fmt.Sprintf("%s %d", quota, quotaPeriod)); err != nil {
			return fmt.Errorf("cpu.max: %w", err)
		}
		return nil
	}
	if err := write(filepath.Join(c.cpu, "cpu.cfs_period_us"), strconv.Itoa(quotaPeriod)); err != nil {
		return fmt.Errorf("cpu.cfs_period_us: %w", err)
	}
	if err := write(filepath.Join(c.cpu, "cpu.cfs_quota_us"), quota); err != nil {
		return fmt.Errorf("cpu.cfs_quota_us: %w", err)
	}
	return nil
}

// write writes to a file of the kernel, which is there.
func write(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return bare(err)
	}
	_, err = f.WriteString(text)
	return bare(errors.Join(err, f.Close()))
}

// optional writes to a file that not every kernel has.
func optional(file, text string) error {
	if !exists(file) {
		return nil
	}
	if err := write(file, text); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	return nil
}

// bare is an error without the path.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// join lists the files by which a process gets into the group.
func (c *cage) join() (files []string) {
	for _, dir := range c.dirs {
		files = append(files, filepath.Join(dir, "cgroup.procs"))
	}
	return files
}

// report tells dyno if the kernel has killed for want of memory. asked says that
// the program was asked to end.
func (c *cage) report(asked bool) {
	m := c.ended()
	if m.Kills == 0 {
		return
	}
	var body bytes.Buffer
	gob.NewEncoder(&body).Encode(m) // of integers
	sendFrame(frameMemory, body.String())
	if !asked {
		time.Sleep(linger)
	}
}

// ended is what the group knows of its memory when its program has ended.
func (c *cage) ended() (m memoryEnd) {
	if c.memory == "" {
		return m
	}
	number := func(file string) int64 {
		text, _ := os.ReadFile(filepath.Join(c.memory, file))
		n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		return n
	}
	m.Limit = c.limits.Memory
	if exists(filepath.Join(c.memory, "memory.max")) {
		m.Kills, m.Reached = c.count("memory.events", "oom_kill"), c.count("memory.events", "oom") > 0
		m.Peak = dyno.Size(number("memory.peak"))
	} else {
		m.Kills = c.count("memory.oom_control", "oom_kill")
		m.Peak = dyno.Size(number("memory.max_usage_in_bytes"))
		// memory.failcnt stays 0 on some kernels (6.18). Charges come in batches.
		m.Reached = float64(m.Peak) > 0.95*float64(m.Limit)
	}
	return m
}

// count is the number behind a word in a file of lines of two.
func (c *cage) count(file, word string) int64 {
	text, _ := os.ReadFile(filepath.Join(c.memory, file))
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == word {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n
		}
	}
	return 0
}

// removeIn is how long the killed may take to leave their group.
const removeIn = 10 * time.Second

// remove kills what is left in the group and in groups that it made below it, and
// removes them all.
func (c *cage) remove() error {
	var errs []error
	for _, dir := range c.dirs {
		err := removeGroup(dir)
		for late := time.Now().Add(removeIn); err != nil && time.Now().Before(late); {
			time.Sleep(5 * time.Millisecond)
			err = removeGroup(dir)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("remove the control group %s: %w", dir, err))
		}
	}
	c.dirs = nil
	return errors.Join(errs...)
}

// removeGroup tries to remove a group and those below it.
func removeGroup(dir string) error {
	text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	for pid := range strings.FieldsSeq(string(text)) {
		if n, err := strconv.Atoi(pid); err == nil && n > 1 {
			unix.Kill(n, unix.SIGKILL)
		}
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, removeGroup(filepath.Join(dir, e.Name())))
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return unix.Rmdir(dir)
}
