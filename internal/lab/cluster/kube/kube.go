// Package kube is a lab in a Kubernetes cluster: the subject of a trial is a Pod with an agent beside it
// that watches, so is each server that it needs, and the load comes from the pods of a Job on other nodes. It needs pods and jobs of one
// namespace and nothing of the cluster: no custom resource, no operator, no Service, no DNS.
//
// All that it makes is owned by the Job. Its agents end when no coordinator has spoken to them for some
// time; then the Job ends, and Kubernetes removes it with all that it owns. So nothing is left of a
// coordinator that was killed.
package kube

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/lab/cluster"
	"github.com/dynolab/dyno/internal/lab/cluster/wire"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/needs"
)

// A place is where the trials of one run are.
type place struct {
	*client
	plan    *dyno.Experiment
	on      *dyno.Kubernetes
	id      string // of the run, in the names and labels of its objects
	version string
	key     *wire.Key
	keeper  *needs.Keeper

	mu    sync.Mutex
	nodes []string                // that subjects run on, a block on each in turn; of a plan without nodes the first subject's
	crew  *crew                   // the agents; nil before the first trial, and after one was lost
	made  int                     // Jobs, so far
	job   *batchv1.Job            // of the agents, which owns all; nil before the first trial
	clone *corev1.PodTemplateSpec // of the plan's deployment
}

// away is how long before a turn all agents are told of it. A message takes some milliseconds through the API
// server.
const away = 500 * time.Millisecond

// late is Fleet.Late. Tests allow more, as they say nothing of how fast the machine is.
var late time.Duration

// Open returns a lab in the cluster that the plan names. Dir, Skip and Watch are the caller's to set. After
// release nothing of the run is left in the cluster.
func Open(ctx context.Context, e *dyno.Experiment, version string) (*lab.Lab, func() error, error) {
	p := &place{plan: e, on: e.On.Kubernetes, id: strings.ToLower(rand.Text()[:6]), version: version, nodes: e.On.Kubernetes.Nodes}
	var err error
	if p.client, err = connect(p.on.Context, p.on.Namespace); err != nil {
		return nil, nil, err
	}
	if p.key, err = wire.NewKey(); err != nil {
		return nil, nil, err
	}
	var l *lab.Lab
	p.keeper = &needs.Keeper{Host: host{p}, Tell: func(step string) {
		if l.Building != nil {
			l.Building(step)
		}
	}}
	program, forget := lab.Programs(map[string]string{"CGO_ENABLED": "0", "GOOS": "linux"}) // for the image of the agents
	l = &lab.Lab{Hands: lab.Hands{
		Program: program,
		Prepare: func(ctx context.Context, s dyno.Subject) error { return p.prepare(ctx, &s) },
		Start: func(ctx context.Context, t *dyno.Trial, dir string, patience time.Duration) (*lab.Running, error) {
			return p.start(ctx, t, dir, patience)
		},
		Load:  p.load,
		Probe: lab.ProbeNamed,
		Away:  away,
	}}
	return l, func() error { return errors.Join(p.keeper.Close(), p.release(), forget()) }, nil
}

// prepare reads the deployment that the subject is like. It is only read.
func (p *place) prepare(ctx context.Context, s *dyno.Subject) error {
	if s.Deployment != "" && p.clone == nil {
		if err := p.copy(ctx, s); err != nil {
			return err
		}
	}
	if err := p.keeper.Prepare(ctx, *s); err != nil {
		return err
	}
	_, err := p.agents(ctx) // so that what is wrong with them is said before the first trial
	return err
}

// copy reads a deployment. Its limits become the plan's, unless that has some: so a report says them, and what
// they mean for settings side by side.
func (p *place) copy(ctx context.Context, s *dyno.Subject) error {
	d := new(appsv1.Deployment)
	if err := p.get(ctx, deployments, s.Deployment, d); err != nil {
		return err
	}
	if err := cloneable(&d.Spec.Template, s); err != nil {
		return fmt.Errorf("deployment %s: %w", s.Deployment, err)
	}
	p.clone = &d.Spec.Template
	i := max(slices.IndexFunc(p.clone.Spec.Containers, func(c corev1.Container) bool { return c.Name == s.Container }), 0)
	limits := p.clone.Spec.Containers[i].Resources.Limits
	if cpu, ok := limits[corev1.ResourceCPU]; ok && p.plan.Limits.CPU == 0 {
		p.plan.Limits.CPU = dyno.CPUs(cpu.AsApproximateFloat64())
	}
	if memory, ok := limits[corev1.ResourceMemory]; ok && p.plan.Limits.Memory == 0 {
		p.plan.Limits.Memory = dyno.Size(memory.Value())
	}
	p.plan.Subject.Container = cmp.Or(s.Container, p.clone.Spec.Containers[0].Name) // for who patches it
	return nil
}

// load sends a load by the agents, which it starts if there are none. Agents that were lost are replaced
// before the next load.
func (p *place) load(ctx context.Context, base string, l dyno.Load, arg map[string]string, o load.Options) (*load.Record, error) {
	c, err := p.agents(ctx)
	if err != nil {
		return nil, err
	}
	rec, err := (&cluster.Fleet{Version: p.version, Members: c.members, Late: late}).Load(ctx, base, l, arg, o)
	if void := new(lab.VoidError); errors.As(err, &void) && void.Lost {
		err = &lab.VoidError{Why: void.Why + p.lossOf(c), Lost: true}
		p.leave(c)
	}
	return rec, err
}

// leave gives up the agents after some of them were lost. The next trial has new ones.
func (p *place) leave(c *crew) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.crew == c {
		p.crew = nil
		c.leave()
	}
}

// release removes all that is left of the run.
func (p *place) release() error {
	p.mu.Lock()
	crew, job := p.crew, p.job
	p.mu.Unlock()
	if crew != nil {
		crew.leave()
	}
	if job == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return p.delete(ctx, jobs, job.Name, 1, true)
}
