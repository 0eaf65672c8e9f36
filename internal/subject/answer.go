package subject

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// A program may leave the answering to processes that it starts: a wrapper script, prefork (one process for each
// CPU, all on one port), or a service that starts itself anew. Who holds the port answers.

// An Answering says which processes are the service.
type Answering struct {
	Main int   // that is measured
	Also []int // that are measured with it; nil if it answers alone

	// Foreign says that the injected probe and the trace of collections are not those of Main alone, so that they
	// tell nothing of the service.
	Foreign bool
}

// Processes of a subject whose port several hold, or that has children, are looked at until they are the same
// twice: a prefork's children start after the first connection is accepted.
const (
	answerLook = 250 * time.Millisecond
	answerMost = 5 * time.Second
)

// holders returns the processes of the subject that listen where it serves; none if that is unknown. The error
// names another that does, when none of them does.
func (p *Process) holders() ([]int, error) {
	found, known := guard.Listening(p.Addr, p.Processes())
	if known && len(found) == 0 {
		who := ""
		if pid := guard.Listener(p.Addr); pid != 0 {
			who = ": " + guard.Named(pid)
		}
		return nil, fmt.Errorf("another process listens on %s%s", p.Addr, who)
	}
	slices.Sort(found)
	return found, nil
}

// answers finds who answers, once the subject is ready.
func (p *Process) answers(ctx context.Context, b *Built) {
	alone := func() bool { return len(p.held) == 0 || len(p.held) == 1 && p.held[0] == p.PID }
	p.Answering = Answering{Main: p.PID}
	all := p.Processes()
	for end := time.Now().Add(answerMost); (len(all) > 1 || !alone()) && time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return
		case <-time.After(answerLook):
		}
		before, was := p.held, all
		all = p.Processes()
		if p.held, _ = p.holders(); slices.Equal(before, p.held) && slices.Equal(was, all) {
			break
		}
	}
	if alone() {
		return
	}
	p.Foreign = b.Go != ""
	if len(p.held) == 1 {
		p.Main = p.held[0]
	} else {
		p.Also = slices.DeleteFunc(all, func(pid int) bool { return pid == p.PID })
		p.Foreign = true
	}
	if p.Foreign {
		who := fmt.Sprintf("process %s, which the subject started", guard.Named(p.Main))
		if p.Also != nil {
			who = fmt.Sprintf("%d processes of the subject", len(p.held))
		}
		p.Warnings.Add(dyno.WarnAnswers, "requests are answered by %s: CPU time and memory are measured of %s; the heap and collections are not measured",
			who, map[bool]string{false: "it", true: "all together"}[p.Also != nil])
		p.Socket = ""
	}
}

// Moved says in one line that others answer now than when the subject became ready, so that what was
// measured is not the service; "" if they are the same, or not known.
func (p *Process) Moved() string {
	var now []int
	for again := range 2 { // a child that lives for a moment may hold what it inherited
		if again > 0 {
			time.Sleep(answerLook)
		}
		var err error
		if now, err = p.holders(); err != nil || len(now) == 0 || slices.Equal(now, p.held) || len(p.held) == 0 {
			return ""
		}
	}
	names := func(pids []int) string {
		var list []string
		for _, pid := range pids {
			list = append(list, strconv.Itoa(pid))
		}
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("other processes answer at the end of the load (%s) than at its beginning (%s): CPU time, memory and collections are left out", names(now), names(p.held))
}

// Environ returns the settings of the Go runtime in the environment of the process that answers, as far as
// they differ from those that dyno gave the subject. A variable that is missing there has the runtime's
// default.
func (p *Process) Environ() (s dyno.Setting) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.Main))
	now := strings.Split(string(text), "\x00")
	mark := slices.IndexFunc(p.env, func(kv string) bool { return strings.HasPrefix(kv, "PORT=") })
	if err != nil || mark < 0 || !slices.Contains(now, p.env[mark]) { // a program may write over its environment
		return nil
	}
	for name, missing := range map[string]string{"GOGC": "100", "GOMEMLIMIT": "off", "GOMAXPROCS": ""} {
		was, has := valueOf(p.env, name), valueOf(now, name)
		if was == has {
			continue
		}
		if has == "" {
			has = missing
		}
		if has != "" {
			s = append(s, dyno.Level{Factor: name, Value: has})
		}
	}
	return s
}

func valueOf(env []string, name string) (value string) {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}
