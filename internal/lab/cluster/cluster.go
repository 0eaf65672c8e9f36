// Package cluster is a lab whose load comes from agents on other machines. It owns how a load is split and
// its parts are put together, and when a trial is void. Package kube starts subjects and agents in Kubernetes.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/lab/cluster/wire"
)

// A Member is an agent that sends a part of each load.
type Member struct {
	Name string
	Dial func(ctx context.Context) (net.Conn, error) // nil: to Name by TCP
	Key  *wire.Key                                   // of the session; nil means the fleet's
}

// A Fleet sends loads by its members.
type Fleet struct {
	Version string
	Key     *wire.Key
	Members []Member

	Late time.Duration // how late an agent may begin, and how far its clock may move; 0 means 50 ms
}

// dial opens a session with a member.
func (f *Fleet) dial(ctx context.Context, m Member) (*wire.Conn, *wire.Welcome, error) {
	return wire.Dial(ctx, m.Name, f.Version, cmp.Or(m.Key, f.Key), m.Dial)
}

// Check asks every member for its clock. It returns how long a message takes at most, and the
// address of this machine that the first member sees.
func (f *Fleet) Check(ctx context.Context) (away time.Duration, host string, err error) {
	clocks, hosts, errs := make([]wire.Clock, len(f.Members)), make([]string, len(f.Members)), make([]error, len(f.Members))
	var all sync.WaitGroup
	for i, m := range f.Members {
		all.Go(func() {
			c, _, err := f.dial(ctx, m)
			if err != nil {
				errs[i] = err
				return
			}
			defer c.Close()
			hosts[i] = c.LocalHost()
			clocks[i], errs[i] = c.Clock()
		})
	}
	all.Wait()
	for _, c := range clocks {
		away = max(away, leadOf(c, len(clocks)))
	}
	if err := cmp.Or(errs...); err != nil {
		return 0, "", err
	}
	for i, h := range hosts {
		if loopback(h) != loopback(hosts[0]) {
			return 0, "", fmt.Errorf("agent %s is on this machine and agent %s is not, so that no address of the subject serves both (consider: this machine's own address for the agent here)",
				f.Members[0].Name, f.Members[i].Name)
		}
	}
	return away, hosts[0], nil
}

func loopback(host string) bool { return net.ParseIP(host).IsLoopback() }

// leadOf returns how long before the beginning of a window an agent is told of it. It is longer than the
// fastest message took, since a busy machine passes messages on later, and agents are told one after the
// other.
func leadOf(c wire.Clock, agents int) time.Duration {
	return 100*time.Millisecond + 8*c.Error + time.Duration(agents)*200*time.Microsecond
}

// Open returns a lab whose subjects run on this machine, and whose load comes from agents that were
// started by hand. host is the address of this machine for them, "" means the one that the first sees.
// Dir, Skip and Watch are the caller's to set, and release as that of lab.Open.
func Open(ctx context.Context, f *Fleet) (l *lab.Lab, release func() error, err error) {
	away, host, err := f.Check(ctx)
	if err != nil {
		return nil, nil, err
	}
	if l, release, err = lab.Open(host); err != nil {
		return nil, nil, err
	}
	l.Load, l.Away = f.Load, away
	return l, release, nil
}

// split is a load's parts, one for each of the members that have something to do: clients and requests of
// a closed load are divided, the schedule of an open one is shared.
func split(l dyno.Load, members int) (parts []share) {
	open := l.Open()
	used := members
	if !open {
		used = min(members, l.Concurrency)
		if l.Requests > 0 {
			used = min(used, l.Requests)
		}
	}
	of := func(n, i int) int { return n*(i+1)/used - n*i/used }
	first := 0
	for i := range used {
		p := share{load: l}
		p.load.Concurrency = max(of(l.Concurrency, i), 1)
		if l.MaxInFlight > 0 {
			p.load.MaxInFlight = max(of(l.MaxInFlight, i), 1)
			if l.HTTP != "2" {
				p.load.MaxInFlight = min(p.load.MaxInFlight, p.load.Concurrency)
			}
		}
		if !open && l.Requests > 0 {
			p.load.Requests = of(l.Requests, i)
		}
		p.Index, p.Of, p.First = i, used, first
		first += max(p.load.Concurrency, p.load.MaxInFlight)
		parts = append(parts, p)
	}
	return parts
}

// lost makes a trial void by an error of a session.
func lost(name string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &lab.VoidError{Why: fmt.Sprintf("agent %s was lost: %v", name, err), Lost: true}
}
