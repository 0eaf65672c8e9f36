package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynolab/dyno/internal/lab/cluster"
	"github.com/dynolab/dyno/internal/lab/cluster/agent"
	"github.com/dynolab/dyno/internal/lab/cluster/wire"
)

// The labels of a run's objects.
const (
	managedBy = "app.kubernetes.io/managed-by"
	runLabel  = "dyno.dev/run"
	roleLabel = "dyno.dev/role"

	roleAgent   = "agent"
	agentName   = "agent" // of its container
	roleSubject = "subject"
)

const (
	// agentIdle is after what time without its coordinator an agent ends, and with it the Job.
	agentIdle = 20 * time.Second
	// keepJob is how long the Job is kept after its end.
	keepJob = 5
	// longestRun ends what an accident left before the first agent heard of its coordinator.
	longestRun = 7 * 24 * time.Hour
	// pullTime is how long pods have to start where an image is pulled.
	pullTime = 3 * time.Minute
)

// patience is how long pods may wait for a node, which a cluster may have to add, or a Job for its pods.
// Tests have less.
var patience = time.Minute

// A crew is the agents that send load.
type crew struct {
	members []cluster.Member
	pods    []string
	v6      bool // their addresses are
	ways    []*way
	stop    context.CancelFunc
	holding sync.WaitGroup
}

// leave lets the agents go.
func (c *crew) leave() {
	c.stop()
	c.holding.Wait()
	for _, w := range c.ways {
		w.close()
	}
}

// agents returns the agents of the run, which it starts if there are none.
func (p *place) agents(ctx context.Context) (*crew, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.crew != nil {
		return p.crew, nil
	}
	if p.job != nil { // of agents that were lost
		if err := p.delete(ctx, jobs, p.job.Name, 1, false); err != nil { // a node that is lost keeps its pods for minutes
			return nil, err
		}
		p.job = nil
	}
	p.made++
	p.job = p.agentsJob() // it may be there although its creation failed: release asks for it by name
	job := new(batchv1.Job)
	if err := p.create(context.WithoutCancel(ctx), jobs, p.job, job); err != nil {
		if status := apierrors.APIStatus(nil); errors.As(err, &status) {
			p.job = nil
		}
		return nil, err
	}
	p.job = job
	ready, err := p.awaitAgents(ctx, int(*job.Spec.Completions))
	if err != nil {
		return nil, err
	}
	c := new(crew)
	held, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	for _, pod := range ready {
		w, err := p.wayTo(ctx, &pod)
		if err != nil {
			c.leave()
			return nil, err
		}
		c.ways = append(c.ways, w)
		key, err := p.keyOf(ctx, pod.Name, agentName)
		if err != nil {
			c.leave()
			return nil, err
		}
		m := cluster.Member{Name: pod.Name, Dial: w.dial, Key: key}
		c.members, c.pods = append(c.members, m), append(c.pods, pod.Name)
		c.v6 = strings.Contains(pod.Status.PodIP, ":")
		c.holding.Go(func() { p.hold(held, m) })
	}
	p.crew = c
	return c, nil
}

// keyOf accepts the agent of a container alone, by the public key in its log: who else has the address of
// its pod, or gets it later, learns nothing.
func (p *place) keyOf(ctx context.Context, pod, container string) (*wire.Key, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for {
		log, err := p.of[pods].Get().Namespace(p.namespace).Resource("pods").Name(pod).SubResource("log").Param("container", container).Do(ctx).Raw()
		if err != nil {
			return nil, p.explain("read the log of", pods, pod, err)
		}
		_, rest, _ := strings.Cut(string(log), agent.KeyLine)
		if public, _, ok := strings.Cut(rest, "\n"); ok {
			return p.key.Trusting(public)
		}
		if !sleep(ctx, 200*time.Millisecond) {
			return nil, fmt.Errorf("the agent in pod %s does not tell its public key (consider: whether on.kubernetes.image is of this dyno)", pod)
		}
	}
}

// hold keeps an agent from ending between two loads. A load finds out itself that an agent is lost.
func (p *place) hold(ctx context.Context, m cluster.Member) {
	for ctx.Err() == nil {
		c, _, err := wire.Dial(ctx, m.Name, p.version, m.Key, m.Dial)
		if err == nil {
			err = beat(ctx, c)
			c.Close()
		}
		if err != nil && !sleep(ctx, time.Second) {
			return
		}
	}
}

// beat gives an agent signs of life, to which it answers.
func beat(ctx context.Context, c *wire.Conn) error {
	for sleep(ctx, wire.Beat) {
		if _, err := c.Clock(); err != nil {
			return err
		}
	}
	return nil
}

// awaitAgents returns the pods when all are ready.
func (p *place) awaitAgents(ctx context.Context, n int) ([]corev1.Pod, error) {
	began := time.Now()
	for {
		all, err := p.listPods(ctx, fmt.Sprintf("%s=%s,%s=%s,batch.kubernetes.io/job-name=%s", runLabel, p.id, roleLabel, roleAgent, p.job.Name))
		if err != nil {
			return nil, err
		}
		up := 0
		for i := range all {
			pod := &all[i]
			if pod.Status.Phase == corev1.PodRunning && pod.Status.PodIP != "" && started(pod, agentName) {
				up++
			} else if why := stuck(pod, time.Since(began)); why != "" {
				return nil, fmt.Errorf("start %d agents: %s", n, why)
			}
		}
		if up == n {
			return all, nil
		}
		waited := time.Since(began)
		if waited > patience && len(all) < n { // no pod could be made: the Job knows why
			if why := p.whyNoPods(ctx); why != "" {
				return nil, fmt.Errorf("start %d agents: %s", n, why)
			}
		}
		if waited > pullTime {
			return nil, fmt.Errorf("start %d agents: %d are ready after %v (consider: kubectl -n %s describe job %s)", n, up, pullTime, p.namespace, p.job.Name)
		}
		if !sleep(ctx, 200*time.Millisecond) {
			return nil, context.Cause(ctx)
		}
	}
}

// whyNoPods says why the Job makes no pods, as far as can be known without reading events: mostly a quota.
func (p *place) whyNoPods(ctx context.Context) string {
	j := new(batchv1.Job)
	if err := p.get(ctx, jobs, p.job.Name, j); err != nil {
		return err.Error()
	}
	for _, c := range j.Status.Conditions {
		if c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	return fmt.Sprintf("Kubernetes makes %d of %d pods; mostly the namespace's quota is the reason (consider: kubectl -n %s describe job %s, fewer agents)",
		j.Status.Active, *j.Spec.Completions, p.namespace, p.job.Name)
}

// lossOf says what became of the pods of lost agents.
func (p *place) lossOf(c *crew) string {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	var found []string
	for _, name := range c.pods {
		pod := new(corev1.Pod)
		switch err := p.get(ctx, pods, name, pod); {
		case err != nil:
			found = append(found, fmt.Sprintf("pod %s is gone", name))
		case pod.DeletionTimestamp != nil:
			found = append(found, fmt.Sprintf("pod %s is being deleted", name))
		case pod.Status.Phase != corev1.PodRunning:
			found = append(found, fmt.Sprintf("pod %s: %s", name, ending(pod, agentName)))
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "; " + strings.Join(found, "; ")
}

func (p *place) labels(role string) map[string]string {
	return map[string]string{managedBy: "dyno", runLabel: p.id, roleLabel: role}
}

// agentsJob is the Job of the agents. They are packed, so that a node is left for the subjects, and are
// not on the subjects' nodes unless the plan allows it. They have no CPU limit, which would stop them in
// the midst of a burst.
func (p *place) agentsJob() *batchv1.Job {
	n := int32(max(p.on.Agents, 1))
	indexed, zero, keep, longest := batchv1.IndexedCompletion, int32(0), int32(keepJob), int64(longestRun.Seconds())
	same := corev1.PodAffinityTerm{
		TopologyKey:   "kubernetes.io/hostname",
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{runLabel: p.id, roleLabel: roleAgent}},
	}
	affinity := &corev1.Affinity{PodAntiAffinity: p.apart(roleSubject), PodAffinity: &corev1.PodAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: same}},
	}}
	if len(p.nodes) > 0 && !p.on.Beside {
		affinity.NodeAffinity = onNodes(corev1.NodeSelectorOpNotIn, p.nodes...)
	}
	spec := corev1.PodSpec{
		RestartPolicy:                corev1.RestartPolicyNever,
		AutomountServiceAccountToken: new(bool),
		Affinity:                     affinity,
		SecurityContext:              restrictedPod(),
		Containers:                   []corev1.Container{p.agentContainer(agentName)},
	}
	spec.Containers[0].Resources = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("dyno-%s-agents-%d", p.id, p.made), Labels: p.labels(roleAgent)},
		Spec: batchv1.JobSpec{
			Completions: &n, Parallelism: &n, CompletionMode: &indexed,
			// A failed agent leaves the others and their logs alone (kubernetes#107891).
			BackoffLimitPerIndex: &zero, TTLSecondsAfterFinished: &keep, ActiveDeadlineSeconds: &longest,
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.labels(roleAgent), Annotations: noMesh()}, Spec: spec},
		},
	}
}

// apart keeps pods from the nodes of other runs' pods with a role: two runs on one node would measure each
// other.
func (p *place) apart(role string) *corev1.PodAntiAffinity {
	return &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		TopologyKey: "kubernetes.io/hostname",
		LabelSelector: &metav1.LabelSelector{
			MatchLabels:      map[string]string{managedBy: "dyno", roleLabel: role},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: runLabel, Operator: metav1.LabelSelectorOpNotIn, Values: []string{p.id}}},
		},
	}}}
}

// agentContainer runs dyno agent.
func (p *place) agentContainer(name string, args ...string) corev1.Container {
	node := corev1.EnvVar{Name: "NODE_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}
	listens := corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: port(agentPort)}}
	args = append([]string{"agent", "--listen", fmt.Sprintf(":%d", agentPort), "--trust", p.key.Public(), "--name", "$(NODE_NAME)", "--idle", agentIdle.String()}, args...)
	return corev1.Container{
		Name: name, Image: p.on.Image, Args: args,
		Env:             []corev1.EnvVar{node},
		Ports:           []corev1.ContainerPort{{ContainerPort: agentPort}},
		StartupProbe:    &corev1.Probe{ProbeHandler: listens, PeriodSeconds: 1, FailureThreshold: 60},
		SecurityContext: restricted(),
	}
}
