// Package watched finds the process of a running service for dyno watch, and the pages where it
// publishes metrics.
package watched

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/probe/kernel"
	"github.com/dynolab/dyno/internal/probe/published"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// A Target is what a user says of the service: any of them, not all.
type Target struct {
	PID     int
	Process string // a name, a part of it, or a regular expression
	URL     string // where the service publishes what it knows
}

// Find finds the process and the pages of the service, puts them into the plan, and calls note for
// each.
func (t Target) Find(e *dyno.Experiment, note func(format string, args ...any)) (found lab.Watching, err error) {
	p := &found.Process
	switch {
	case t.PID != 0:
		*p, err = kernel.Lookup(t.PID)
	case t.Process != "":
		*p, err = theOne(t.Process)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		err = fmt.Errorf("%w (consider: the URL of a service with /debug/vars or /metrics)", err)
	}
	if err != nil {
		return found, err
	}
	holder, here := t.holder()
	if holder != 0 && p.PID == 0 {
		if *p, err = kernel.Lookup(holder); err == nil {
			note("process %d holds the port, so dyno watches it too: %s", holder, p)
			e.Subject.PID = holder
		}
	} else if holder != 0 && holder != p.PID {
		note("process %[2]d holds the port of %[1]s, not process %[3]d", t.URL, holder, p.PID)
	}
	probes := &e.Probes
	if t.URL == "" && p.PID != 0 && probes.Expvar == "" && probes.Prometheus == "" && probes.Pprof == "" {
		t.URL = search(p.PID, e.Load.Insecure, note)
	}
	if err := t.pages(e, p.PID != 0, note); err != nil {
		return found, err
	}
	if here && p.PID == 0 && runtime.GOOS == "linux" {
		note("dyno cannot see which process holds the port, so it has no resident memory and CPU time (consider: --pid, or running dyno as its user)")
	}
	e.Name = cmp.Or(e.Name, p.Program, p.Name)
	if u, err := url.Parse(t.URL); err == nil {
		e.Name = cmp.Or(e.Name, u.Hostname())
	}
	return found, nil
}

// mostCandidates are listed of an ambiguous name.
const mostCandidates = 10

// theOne is the process of a name.
func theOne(name string) (kernel.Process, error) {
	ps, err := kernel.Find(name)
	switch {
	case err != nil:
		return kernel.Process{}, err
	case len(ps) == 0:
		return kernel.Process{}, fmt.Errorf("no process has the name %q (consider: ps -e -o pid,comm, or --pid)", name)
	case len(ps) == 1:
		return ps[0], nil
	}
	var list strings.Builder
	for i, p := range ps {
		if i == mostCandidates {
			fmt.Fprintf(&list, "\n  and %d more", len(ps)-i)
			break
		}
		fmt.Fprintf(&list, "\n  %7d  %8v  %.100s", p.PID, time.Since(p.Started).Truncate(time.Second), p.String())
	}
	return kernel.Process{}, fmt.Errorf("%d processes match the name %q (consider: --pid, or a longer name, such as '^%s$'):%s",
		len(ps), name, ps[0].Name, &list)
}

// holder is the process of this machine that holds the port of the URL; 0 if it is
// not known, or the URL is not here.
func (t Target) holder() (pid int, here bool) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" {
		return 0, false
	}
	if service, _ := dyno.Service(u); service != nil && service.Path != "" {
		return guard.Listener(service.Path), true
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	ips, err := net.LookupIP(u.Hostname())
	if err != nil {
		return 0, false
	}
	own, _ := net.InterfaceAddrs()
	for _, ip := range ips {
		local := ip.IsLoopback() || slices.ContainsFunc(own, func(a net.Addr) bool {
			n, ok := a.(*net.IPNet)
			return ok && n.IP.Equal(ip)
		})
		if !local {
			return 0, false
		}
	}
	return guard.Listener(net.JoinHostPort(u.Hostname(), port)), true
}

// mostSearched bounds the ports of a process that are asked: each may be one that never answers.
const mostSearched = 8

// usual are the paths at which a service publishes the page of a probe, unless the plan names another.
var usual = []struct{ probe, path string }{{"expvar", "/debug/vars"}, {"prometheus", "/metrics"}, {"pprof", "/debug/pprof"}}

// search finds the port of a process that has a page which probes read; "" without one.
func search(pid int, insecure bool, note func(string, ...any)) (base string) {
	ports := guard.Listens(pid)
	for _, addr := range ports[:min(len(ports), mostSearched)] {
		for _, page := range usual {
			err := published.Ask(page.probe, "http://"+addr+page.path, insecure)
			if err == nil {
				return "http://" + addr
			}
			if !errors.Is(err, published.ErrNotPublished) {
				break // nobody answers there
			}
		}
	}
	where := "dyno cannot see where it listens"
	if len(ports) > 0 {
		where = "it listens at " + strings.Join(ports, ", ")
	}
	note("dyno watches the process alone, as it found no page with heap metrics; %s (consider: --url http://HOST:PORT, if it has /debug/vars, /metrics or /debug/pprof)", where)
	return ""
}

// pages asks the service once for each page that probes read, and tells the plan
// of those that it has. A watch without a process needs one.
func (t Target) pages(e *dyno.Experiment, process bool, note func(string, ...any)) error {
	probes := &e.Probes
	inPlan := []*string{&probes.Expvar, &probes.Prometheus, &probes.Pprof} // as usual has them
	base := strings.TrimSuffix(cmp.Or(t.URL, e.Subject.URL), "/")
	for _, p := range usual { // the URL may be the page itself
		base = strings.TrimSuffix(base, p.path)
	}
	var have, missing []string
	for i, p := range usual {
		asked := *inPlan[i]
		if asked == "" && t.URL == "" {
			continue
		}
		where := cmp.Or(asked, p.path)
		if strings.HasPrefix(where, "/") {
			where = base + where
		}
		err := published.Ask(p.probe, where, e.Load.Insecure)
		var certificate *tls.CertificateVerificationError
		switch {
		case err == nil:
			*inPlan[i] = where
			have = append(have, where)
		case errors.As(err, &certificate):
			return fmt.Errorf("%w (consider: --insecure, if you trust the certificate)", err)
		case !errors.Is(err, published.ErrNotPublished):
			return fmt.Errorf("%w (consider: is the service up, and is this its port?)", err)
		case asked != "":
			return fmt.Errorf("%s of %s: %w (consider: the path where the service publishes it)", p.probe, where, err)
		default:
			missing = append(missing, fmt.Sprintf("%s: %v", p.path, err))
		}
	}
	switch {
	case len(have) > 0:
		note("the service publishes %s", strings.Join(have, ", "))
	case t.URL != "" && !process:
		return fmt.Errorf("%s publishes nothing that dyno reads, and dyno cannot see its process: %s "+
			"(consider: importing expvar or net/http/pprof, --expvar PATH, --prometheus PATH, or --pid)", base, strings.Join(missing, "; "))
	case t.URL != "":
		note("%s publishes nothing that dyno reads, so dyno watches its process alone: %s", base, strings.Join(missing, "; "))
	}
	probes.Use = use(probes)
	return nil
}

// use returns the probes of a watch if the plan names none. If several pages count goroutines, it takes the
// one that tells more.
func use(p *dyno.Probes) []string {
	if len(p.Use) > 0 {
		return p.Use
	}
	names := []string{"proc", "cgroup", "needs"}
	if p.Expvar != "" {
		names = append(names, "expvar")
	}
	switch {
	case p.Prometheus != "":
		names = append(names, "prometheus")
	case p.Pprof != "":
		names = append(names, "pprof")
	}
	return names
}
