package cgroup

import (
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
)

// A Group is a control group that was made: a directory (in version 1 one for each controller) or a
// scope of systemd. It must be removed.
type Group struct {
	Limits
	Command []string // makes a scope of systemd and runs another command in it; nil if directories were made

	claim func(dir string)
	dirs  []string
	of    map[string]string // the directory that has a controller
}

func (l Limits) needs(controller string) bool {
	return controller == memory && l.Memory > 0 || controller == cpu && (l.CPU > 0 || l.Idle)
}

// Make makes the directories of a group, without setting the limits. Controllers that no limit needs
// are taken where they are, so that all groups are accounted alike. proc is /proc. Make calls claim
// with each directory before it makes it.
func Make(proc, name string, l Limits, claim func(dir string)) (*Group, error) {
	g := &Group{Limits: l, claim: claim, of: map[string]string{}}
	if err := g.make(proc, name); err != nil {
		return nil, errors.Join(err, g.Remove())
	}
	return g, nil
}

func (g *Group) make(proc, name string) error {
	all, err := hierarchies(proc, 0)
	if err != nil {
		return fmt.Errorf("find control groups: %w", err)
	}
	var failed error
	var unified, needed []string // controllers that are in no hierarchy of version 1
	for _, controller := range []string{memory, cpu} {
		h := with(controller, all)
		if h.unified() {
			unified = append(unified, controller)
			if g.needs(controller) {
				needed = append(needed, controller)
			}
		} else if err := g.mkdir(filepath.Join(h.dir, name), controller); err != nil {
			if failed = err; g.needs(controller) {
				return err
			}
		}
	}
	if len(unified) > 0 {
		if err := g.makeUnified(all, name, unified, needed); err != nil {
			if failed = err; len(needed) > 0 {
				return err
			}
		}
	}
	if len(g.dirs) == 0 {
		return failed
	}
	return nil
}

// makeUnified makes a group of version 2 with all the controllers or, if that fails, with those
// needed.
func (g *Group) makeUnified(all []hierarchy, name string, controllers, needed []string) (err error) {
	i := slices.IndexFunc(all, hierarchy.unified)
	if i < 0 {
		return fmt.Errorf("no control groups with the controllers %s are mounted", strings.Join(controllers, " and "))
	}
	for _, wanted := range [][]string{controllers, needed} {
		if len(wanted) == 0 {
			break
		}
		var parent string
		if parent, err = all[i].parent(wanted); err == nil {
			return g.mkdir(filepath.Join(parent, name), wanted...)
		}
	}
	return err
}

// parent finds the nearest group, from this process's own upwards, that gives controllers to the
// groups below it, or can be made to: in version 2 one without processes, or the root ("no internal
// processes"). A controller stays on: others may use it by now.
func (h hierarchy) parent(controllers []string) (dir string, err error) {
	var tried []string
	busy := ""
	for _, enable := range []bool{false, true} {
		for _, dir := range h.up() {
			err := offer(dir, controllers, enable)
			if err == nil {
				return dir, nil
			} else if enable {
				tried = append(tried, fmt.Sprintf("%s: %v", dir, err))
				if busy == "" && errors.Is(err, unix.EBUSY) {
					busy = dir
				}
			}
		}
	}
	err = fmt.Errorf("no group allows groups with the controllers %s below it (%s)", strings.Join(controllers, " and "), strings.Join(tried, ", "))
	if busy != "" {
		return "", &Busy{busy, err}
	}
	return "", err
}

// A Busy error says that the processes of a group, in version 2, keep it from having groups with limits below it.
type Busy struct {
	Dir string
	err error
}

func (b *Busy) Error() string { return b.err.Error() }

// Cure is a command of the shell that moves the processes to a group of their own.
func (b *Busy) Cure() string {
	return fmt.Sprintf("mkdir %[1]s/own && for p in $(cat %[1]s/cgroup.procs); do echo $p >%[1]s/own/cgroup.procs 2>/dev/null; done", b.Dir)
}

// offer returns nil if groups below dir have the controllers and processes may be moved there.
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

// mkdir makes a group, unless another controller of the same hierarchy has made it.
func (g *Group) mkdir(dir string, controllers ...string) error {
	if !slices.Contains(g.dirs, dir) {
		g.claim(dir)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("make a control group in %s: %w", filepath.Dir(dir), bare(err))
		}
		g.dirs = append(g.dirs, dir)
	}
	for _, controller := range controllers {
		g.of[controller] = dir
	}
	return nil
}

// quotaPeriod is the kernel's default, in µs.
const quotaPeriod = 100_000

// A setting is the text for a file of a group.
type setting struct {
	file, text string
	optional   bool // not every kernel has the file
}

func (g *Group) SetLimits() error {
	if g.Memory > 0 {
		bytes := strconv.FormatInt(g.Memory, 10)
		err := set(g.of[memory],
			[]setting{{"memory.max", bytes, false}, {"memory.swap.max", "0", true}},
			// Memory and swap together, where the kernel accounts swap; else no wish to swap.
			[]setting{{"memory.limit_in_bytes", bytes, false}, {"memory.memsw.limit_in_bytes", bytes, true}, {"memory.swappiness", "0", true}})
		if err != nil {
			return err
		}
	}
	if g.Idle {
		idle := []setting{{"cpu.idle", "1", false}}
		if err := set(g.of[cpu], idle, idle); err != nil {
			return err
		}
	}
	if g.CPU == 0 {
		return nil
	}
	quota, period := strconv.Itoa(int(g.CPU*quotaPeriod+0.5)), strconv.Itoa(quotaPeriod)
	return set(g.of[cpu],
		[]setting{{"cpu.max", quota + " " + period, false}},
		[]setting{{"cpu.cfs_period_us", period, false}, {"cpu.cfs_quota_us", quota, false}})
}

// set writes the settings of version 2 if the first of their files exists, else those of version 1.
func set(dir string, v2, v1 []setting) error {
	settings := v2
	if _, err := os.Stat(filepath.Join(dir, v2[0].file)); err != nil {
		settings = v1
	}
	for _, s := range settings {
		if err := write(filepath.Join(dir, s.file), s.text); err != nil && !(s.optional && errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("%s: %w", s.file, err)
		}
	}
	return nil
}

func write(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return bare(err)
	}
	_, err = f.WriteString(text)
	return bare(errors.Join(err, f.Close()))
}

// bare returns an error without its path.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// JoinFiles lists the files for Join.
func (g *Group) JoinFiles() (files []string) {
	for _, dir := range g.dirs {
		files = append(files, filepath.Join(dir, "cgroup.procs"))
	}
	return files
}

// Join moves this process into the group of these files.
func Join(files []string) error {
	for _, file := range files {
		if err := write(file, "0"); err != nil { // 0 is who writes
			return fmt.Errorf("join the control group %s: %w", filepath.Dir(file), err)
		}
	}
	return nil
}

// Scope is a group that systemd makes with the limits: see Command.
func Scope(systemdRun string, l Limits) *Group {
	command := []string{systemdRun, "--user", "--scope", "--quiet", "--collect"}
	if l.Memory > 0 {
		command = append(command, "-p", "MemoryMax="+strconv.FormatInt(l.Memory, 10), "-p", "MemorySwapMax=0")
	}
	if l.CPU > 0 {
		command = append(command, "-p", "CPUQuota="+strconv.FormatFloat(100*l.CPU, 'f', 2, 64)+"%")
	}
	return &Group{Limits: l, Command: append(command, "--")}
}

// MemoryEnd reads what became of the group's memory, after its program has ended. Version 2 counts
// how often memory was refused at the group's own limit (oom). Version 1 does not: memory.failcnt stays
// 0 on some kernels (6.18). There the limit is the reason of a kill if the peak came within 5 % of it,
// as charges come in batches.
func (g *Group) MemoryEnd() MemoryEnd {
	a := openAccount(g.of[memory], "", false)
	defer a.Close()
	events, _ := a.OOM.Words()
	peak, _ := a.Peak.Number()
	refused, v2 := events["oom"]
	m := MemoryEnd{Kills: int64(events["oom_kill"]), Limit: g.Memory, Peak: int64(peak)}
	full := refused > 0 || !v2 && peak > 0.95*float64(m.Limit)
	m.Reached = m.Kills > 0 && m.Limit > 0 && full
	return m
}

// removeIn is how long killed processes may take to leave their group.
const removeIn = 10 * time.Second

// Remove kills what is left in the group and in those below it, and removes them.
func (g *Group) Remove() error {
	var errs []error
	for _, dir := range g.dirs {
		errs = append(errs, Remove(dir))
	}
	g.dirs = nil
	return errors.Join(errs...)
}

// Remove kills what is left in a group's directory, and in those below it, and removes them. It need
// not exist.
func Remove(dir string) error {
	err := removeGroup(dir)
	for late := time.Now().Add(removeIn); err != nil && time.Now().Before(late); {
		time.Sleep(5 * time.Millisecond)
		err = removeGroup(dir)
	}
	if err != nil {
		return fmt.Errorf("remove the control group %s: %w", dir, err)
	}
	return nil
}

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
