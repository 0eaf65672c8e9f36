//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

// loads are the ways in which a run is loaded and laid out; each fault takes one by chance.
var loads = [][]string{{}, {"--alone"}, {"-r", "200/s"}, {"-r", "200/s", "--alone"}, {"--env", "TLS=1", "--addr", "https://{{.Addr}}", "-k", "--http", "2"}}

func (t *try) load() []string { return loads[t.rng.IntN(len(loads))] }

// deaths are the ways in which dyno itself is stopped at a random moment.
func deaths() []kind {
	var all []kind
	for _, s := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		all = append(all, kind{fmt.Sprintf("dyno gets signal %d", s), func(t *try) error {
			return t.strike(t.small(t.out(), t.load()...), func(d *dyno) error { return d.cmd.Process.Signal(s) })
		}})
	}
	return append(all,
		kind{"dyno gets two interrupts", func(t *try) error {
			return t.strike(t.small(t.out(), t.load()...), func(d *dyno) error {
				d.cmd.Process.Signal(os.Interrupt)
				time.Sleep(time.Duration(t.rng.Int64N(int64(200 * time.Millisecond))))
				return d.cmd.Process.Signal(os.Interrupt)
			})
		}},
		kind{"dyno killed while it builds", func(t *try) error {
			if err := t.cloneSource(); err != nil {
				return err
			}
			return t.strike([]string{"run", ".", "--vary", "rev=HEAD~1,HEAD", "-d", "200ms", "--repeat", "2", "--out", t.out()}, kill)
		}},
		kind{"dyno killed and its guards with it", func(t *try) error {
			return t.strike(t.small(t.out(), t.load()...), func(d *dyno) error {
				for _, pid := range d.guards() {
					syscall.Kill(pid, syscall.SIGKILL)
				}
				return kill(d)
			})
		}},
		kind{"dyno builds and all are killed", func(t *try) error {
			if err := t.cloneSource(); err != nil {
				return err
			}
			return t.strike([]string{"run", ".", "--vary", "rev=HEAD~1,HEAD", "-d", "200ms", "--repeat", "2", "--out", t.out()}, func(d *dyno) error {
				for _, pid := range d.guards() {
					syscall.Kill(pid, syscall.SIGKILL)
				}
				return kill(d)
			})
		}},
		kind{"dyno stopped and continued", func(t *try) error {
			return t.strike(t.small(t.out(), t.load()...), func(d *dyno) error {
				d.cmd.Process.Signal(syscall.SIGSTOP)
				time.Sleep(2 * time.Second)
				return d.cmd.Process.Signal(syscall.SIGCONT)
			})
		}},
		kind{"dyno bench killed", func(t *try) error {
			if err := t.cloneSource(); err != nil {
				return err
			}
			d, err := t.start("bench", ".", "--repeat", "1", "-d", "10s", "--out", t.out())
			if err != nil {
				return err
			}
			t.moment(d, time.Second)
			kill(d)
			d.wait()
			return t.nextStart()
		}},
	)
}

func kill(d *dyno) error { return d.cmd.Process.Kill() }

// strike starts dyno, does the fault at a random moment of the run, and goes on with it afterwards.
func (t *try) strike(args []string, fault func(*dyno) error) error {
	d, lines, err := t.begun(args, fault)
	if err != nil {
		return err
	}
	return t.after(d, lines)
}

// remove is strike with a fault that takes the run directory away. If dyno ends well it was in the last moment,
// after which dyno cannot look any more, and is tried again.
func (t *try) remove(fault func(*dyno) error) error {
	args := t.small(t.out(), t.load()...)
	for {
		d, lines, err := t.begun(args, fault)
		if err != nil {
			return err
		}
		if d.wait() != 0 {
			return t.after(d, lines)
		}
		if err := os.RemoveAll(t.out()); err != nil {
			return err
		}
	}
}

// after waits for dyno's end and goes on with the run. The lines are the results before the fault.
func (t *try) after(d *dyno, lines []string) error {
	d.wait()
	t.keptAll(t.out(), lines, d.said())
	if err := t.goOn(t.out()); err != nil {
		return err
	}
	t.keptAll(t.out(), lines, d.said())
	return nil
}

// begun starts dyno and does the fault at a random moment at which it still runs. It returns the results before.
func (t *try) begun(args []string, fault func(*dyno) error) (d *dyno, lines []string, err error) {
	for most := 2500 * time.Millisecond; most > time.Millisecond; most /= 2 {
		if d, err = t.start(args...); err != nil {
			return nil, nil, err
		}
		if t.moment(d, most) {
			lines = results(t.out())
			if err = fault(d); err != nil && strings.Contains(err.Error(), "already finished") {
				err = nil
			}
			return d, lines, err
		}
		if err := os.RemoveAll(t.out()); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, fmt.Errorf("dyno %q ends before anything can be done: %s", args, program.LastLine(d.output()))
}

func (t *try) cloneSource() error {
	if err := os.CopyFS(t.copied(), os.DirFS(t.bench.source)); err != nil {
		return err
	}
	t.cwd = t.copied()
	return nil
}

// removeAll removes a directory in which others write meanwhile.
func removeAll(dir string) (err error) {
	for range 100 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
	}
	return err
}

// guards are dyno's supervisors and launchers, subjects what these have started.
func (d *dyno) guards() []int {
	var pids []int
	for _, pid := range d.t.processes() {
		if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); bytes.HasPrefix(name, []byte("dyno-")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (d *dyno) subjects() []int {
	var pids []int
	for _, pid := range d.t.processes() {
		if exe, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe"); exe == d.t.hostile {
			pids = append(pids, pid)
		}
	}
	return pids
}

// guards are faults of what keeps the subjects, and of the subjects; dyno ends with an error or goes on.
func guards() []kind {
	one := func(name string, of func(*dyno) []int, s syscall.Signal) kind {
		return kind{name, func(t *try) error {
			return t.strike(t.small(t.out(), t.load()...), func(d *dyno) error {
				if pids := of(d); len(pids) > 0 {
					return ignoreGone(syscall.Kill(pids[t.rng.IntN(len(pids))], s))
				}
				return nil // between two blocks
			})
		}}
	}
	return []kind{
		one("a guard is killed", (*dyno).guards, syscall.SIGKILL),
		one("a guard is stopped", (*dyno).guards, syscall.SIGSTOP),
		one("a guard gets SIGTERM", (*dyno).guards, syscall.SIGTERM),
		one("a subject is killed", (*dyno).subjects, syscall.SIGKILL),
		one("a subject is stopped", (*dyno).subjects, syscall.SIGSTOP),
		one("a subject gets SIGHUP", (*dyno).subjects, syscall.SIGHUP),
	}
}

func ignoreGone(err error) error {
	if err == syscall.ESRCH {
		return nil
	}
	return err
}

// disks are faults of the places where dyno writes.
func disks() []kind {
	return []kind{
		{"disk full of results", func(t *try) error { return t.fullDisk(filepath.Join(t.dir, "small", "run"), "") }},
		{"disk full of temporary files", func(t *try) error { return t.fullDisk(t.out(), filepath.Join(t.dir, "small")) }},
		{"run directory removed", func(t *try) error {
			return t.remove(func(*dyno) error { return removeAll(t.out()) })
		}},
		{"run directory renamed", func(t *try) error {
			return t.remove(func(*dyno) error {
				os.RemoveAll(t.out() + ".other")
				os.Rename(t.out(), t.out()+".other") // before dyno has made it there is none
				return nil
			})
		}},
		{"trials removed", func(t *try) error {
			return t.strike(t.small(t.out(), t.load()...), func(*dyno) error { return removeAll(filepath.Join(t.out(), "trials")) })
		}},
		{"temporary directory emptied", func(t *try) error {
			return t.strike(t.small(t.out(), t.load()...), func(*dyno) error {
				entries, err := os.ReadDir(t.temp)
				for _, e := range entries {
					os.RemoveAll(filepath.Join(t.temp, e.Name()))
				}
				return err
			})
		}},
		{"temporary directory unreachable", func(t *try) error {
			return t.strike(t.small(t.out(), t.load()...), func(*dyno) error {
				if err := os.Rename(t.temp, t.temp+".other"); err != nil {
					return err
				}
				time.Sleep(time.Second)
				return os.Rename(t.temp+".other", t.temp)
			})
		}},
		{"executable removed", func(t *try) error {
			path := filepath.Join(t.dir, "service")
			if err := exec.Command("cp", t.hostile, path).Run(); err != nil {
				return err
			}
			args := t.small(t.out(), t.load()...)
			args[1] = path
			d, err := t.start(args...)
			if err != nil {
				return err
			}
			t.moment(d, 2*time.Second)
			os.Remove(path)
			d.wait()
			t.keptAll(t.out(), nil, d.said())
			return t.nextStart()
		}},
	}
}

// fullDisk runs dyno on a disk of a few MiB that others fill up meanwhile, and goes on when there is room again.
func (t *try) fullDisk(out, temp string) error {
	small := filepath.Join(t.dir, "small")
	if err := os.Mkdir(small, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=4m,mode=755"); err != nil {
		return err
	}
	args := t.small(out, t.load()...)
	if temp != "" {
		t.temp = temp
	}
	d, err := t.start(args...)
	if err != nil {
		return err
	}
	t.moment(d, 2500*time.Millisecond)
	lines := results(out)
	filler := filepath.Join(small, "filler")
	os.WriteFile(filler, make([]byte, 8<<20), 0o600) // until there is no room
	d.wait()
	t.keptAll(out, lines, d.said())
	if err := os.Remove(filler); err != nil {
		return err
	}
	if err := t.goOn(out); err != nil {
		return err
	}
	t.keptAll(out, lines, d.said())
	return nil
}
