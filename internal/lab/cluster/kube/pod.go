package kube

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject"
)

const (
	subjectName = "subject"
	samplerName = "dyno"
	probeDir    = "/run/dyno" // of the injected probe's socket, in the subject and beside it
	scratchDir  = "/run/scratch"
	probeSocket = probeDir + "/probe"
	defaultPort = 8080
	nobody      = 65532
)

// A bundle is a pod with the subject in it.
type bundle struct {
	made      *corev1.Pod
	container string // the subject's
	port      int
	scheme    string // http or https
}

// subjectPod is the pod of a trial: the subject, with the trial's environment and limits, and an agent
// beside it that sees its processes.
func (p *place) subjectPod(t *dyno.Trial, needs map[string]map[string]string, node string) (*bundle, error) {
	spec, name := p.template(t)
	i := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	c := &spec.Containers[i]
	b := &bundle{container: name, port: defaultPort}
	if len(c.Ports) > 0 {
		b.port = int(c.Ports[0].ContainerPort)
	}
	told, err := subject.Tell(t.Subject, net.JoinHostPort(p.anyHost(), strconv.Itoa(b.port)), scratchDir, needs)
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(told.Base)
	if err != nil {
		return nil, err
	}
	if base.Port() != "" {
		b.port, err = strconv.Atoi(base.Port())
	}
	if err != nil {
		return nil, err
	}
	b.scheme = base.Scheme
	if len(told.Args) > 0 {
		c.Args = nil
		for _, a := range told.Args {
			c.Args = append(c.Args, literal(a))
		}
	}
	env := told.Env
	if t.Subject.Deployment != "" && !strings.Contains(fmt.Sprint(t.Subject.Env), "{{") {
		delete(env, "PORT") // it has its own
	}
	env["DYNO_PROBE"] = probeSocket
	if tracesCollections(t) {
		env["GODEBUG"] = strings.TrimPrefix(cmp.Or(env["GODEBUG"], valueOf(c.Env, "GODEBUG"))+",gctrace=1", ",")
	}
	c.Env = with(c.Env, env)
	confine(c, t.Limits)
	mount(spec, c, "dyno-probe", probeDir)
	if told.Dir {
		mount(spec, c, "dyno-scratch", scratchDir)
	}
	c.StartupProbe = readiness(c, t, b)
	c.LivenessProbe, c.ReadinessProbe = nil, nil // which would be load
	sampler := p.sampler()
	sampler.VolumeMounts = []corev1.VolumeMount{{Name: "dyno-probe", MountPath: probeDir}}
	if who := userOf(spec, c); who != nil {
		root := *who == 0
		sampler.SecurityContext.RunAsUser = who // or it may not read all of the subject's /proc
		sampler.SecurityContext.RunAsNonRoot = new(!root)
	}
	b.made = p.guestPod(fmt.Sprintf("trial-%d", t.N), spec, sampler, node)
	return b, nil
}

// sampler is the agent beside a container.
func (p *place) sampler() corev1.Container {
	sampler := p.agentContainer(samplerName, "--watch")
	sampler.Resources = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
	}
	return sampler
}

// guestPod is a pod with an agent that sees the processes of the others. It is where subjects are.
func (p *place) guestPod(name string, spec *corev1.PodSpec, sampler corev1.Container, node string) *corev1.Pod {
	spec.Containers = append([]corev1.Container{sampler}, spec.Containers...) // whose image is then there first
	shared, grace := true, int64(5)
	spec.ShareProcessNamespace, spec.TerminationGracePeriodSeconds = &shared, &grace
	spec.RestartPolicy = corev1.RestartPolicyNever
	p.settle(spec, node)
	owner := metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: p.job.Name, UID: p.job.UID}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: fmt.Sprintf("dyno-%s-%s-", p.id, name), Labels: p.labels(roleSubject),
			Annotations: noMesh(), OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: *spec,
	}
}

// template returns what the pod is made from: an image, or a copy of the deployment's template.
func (p *place) template(t *dyno.Trial) (spec *corev1.PodSpec, name string) {
	if p.clone != nil {
		spec = p.clone.Spec.DeepCopy()
		return spec, cmp.Or(t.Subject.Container, spec.Containers[0].Name)
	}
	return &corev1.PodSpec{
		AutomountServiceAccountToken: new(bool),
		SecurityContext:              restrictedPod(),
		Containers:                   []corev1.Container{{Name: subjectName, Image: t.Subject.Image, SecurityContext: restricted()}},
	}, subjectName
}

// cloneable says why a pod template cannot be copied beside the original, or nil.
func cloneable(t *corev1.PodTemplateSpec, s *dyno.Subject) error {
	if s.Container != "" && !slices.ContainsFunc(t.Spec.Containers, func(c corev1.Container) bool { return c.Name == s.Container }) {
		return fmt.Errorf("it has no container %s", s.Container)
	}
	for _, c := range t.Spec.Containers {
		for _, port := range c.Ports {
			if port.HostPort != 0 {
				return fmt.Errorf("its container %s has port %d of the host, which a copy cannot share", c.Name, port.HostPort)
			}
		}
	}
	for _, v := range t.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			return fmt.Errorf("its volume %s is a claim, which a copy must not share (consider: a deployment without it, for tests)", v.Name)
		}
	}
	if t.Spec.HostNetwork || t.Spec.HostPID {
		return errors.New("its pods use the network or the processes of the host, which a copy cannot share")
	}
	return nil
}

// settle puts a pod on a node, which has none of the agents. Without a node the scheduler chooses one.
func (p *place) settle(spec *corev1.PodSpec, node string) {
	spec.TopologySpreadConstraints = nil // of a deployment: it is about its replicas
	own := spec.Affinity
	spec.Affinity = &corev1.Affinity{PodAntiAffinity: p.apart(roleSubject)}
	if own != nil {
		spec.Affinity.NodeAffinity = own.NodeAffinity
	}
	if node != "" {
		spec.Affinity.NodeAffinity = onNodes(corev1.NodeSelectorOpIn, node)
	}
	if !p.on.Beside {
		terms := &spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		*terms = append(*terms, corev1.PodAffinityTerm{
			TopologyKey:   "kubernetes.io/hostname",
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{runLabel: p.id, roleLabel: roleAgent}},
		})
	}
}

func onNodes(op corev1.NodeSelectorOperator, nodes ...string) *corev1.NodeAffinity {
	var terms []corev1.NodeSelectorTerm
	if op == corev1.NodeSelectorOpNotIn { // a field takes one value: all have to hold
		var all []corev1.NodeSelectorRequirement
		for _, n := range nodes {
			all = append(all, corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: op, Values: []string{n}})
		}
		terms = []corev1.NodeSelectorTerm{{MatchFields: all}}
	} else {
		for _, n := range nodes {
			terms = append(terms, corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: op, Values: []string{n}}}})
		}
	}
	return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}
}

// readiness is asked until it succeeds once: what the plan says, else the deployment, else that the port
// is open.
func readiness(c *corev1.Container, t *dyno.Trial, b *bundle) *corev1.Probe {
	r := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: port(b.port)}}}
	switch {
	case t.Subject.Ready != "":
		r.ProbeHandler = corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: t.Subject.Ready, Port: port(b.port), Scheme: corev1.URIScheme(strings.ToUpper(b.scheme))}}
	case c.ReadinessProbe != nil:
		r.ProbeHandler = c.ReadinessProbe.ProbeHandler
	}
	r.PeriodSeconds, r.TimeoutSeconds = 1, 5
	r.FailureThreshold = int32(math.Ceil(readyTime(t).Seconds())) + 60 // dyno itself gives up before
	return r
}

func readyTime(t *dyno.Trial) time.Duration {
	return time.Duration(cmp.Or(t.Subject.ReadyTimeout, dyno.DefaultReadyTimeout))
}

// confine gives a container the limits of a trial, and asks for as much: so the pod gets what it may use.
func confine(c *corev1.Container, l dyno.Limits) {
	list := corev1.ResourceList{}
	if l.CPU > 0 {
		list[corev1.ResourceCPU] = *resource.NewMilliQuantity(int64(math.Round(float64(l.CPU)*1000)), resource.DecimalSI)
	}
	if l.Memory > 0 {
		list[corev1.ResourceMemory] = *resource.NewQuantity(int64(l.Memory), resource.BinarySI)
	}
	if len(list) == 0 {
		return
	}
	all := corev1.ResourceList{}
	maps.Copy(all, c.Resources.Limits)
	maps.Copy(all, list)
	c.Resources = corev1.ResourceRequirements{Limits: all, Requests: maps.Clone(all)}
}

// with sets variables of a container, whatever else it takes them from.
func with(env []corev1.EnvVar, set map[string]string) []corev1.EnvVar {
	env = slices.DeleteFunc(slices.Clone(env), func(v corev1.EnvVar) bool { _, ok := set[v.Name]; return ok })
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, corev1.EnvVar{Name: name, Value: literal(set[name])})
	}
	return env
}

// literal keeps Kubernetes from taking $(NAME) in a text for a variable.
func literal(text string) string { return strings.ReplaceAll(text, "$(", "$$(") }

func valueOf(env []corev1.EnvVar, name string) string {
	for _, v := range env {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

func mount(spec *corev1.PodSpec, c *corev1.Container, name, dir string) {
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: dir})
}

// userOf is the user that a container runs as, as far as the pod says.
func userOf(spec *corev1.PodSpec, c *corev1.Container) *int64 {
	if s := c.SecurityContext; s != nil && s.RunAsUser != nil {
		return s.RunAsUser
	}
	if s := spec.SecurityContext; s != nil {
		return s.RunAsUser
	}
	return nil
}

// noMesh keeps a service mesh from adding a proxy to a pod, which would be in the way of the load, and
// autoscalers from moving it.
func noMesh() map[string]string {
	return map[string]string{
		"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled",
		"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true",
	}
}

// anyHost is the address at which a subject serves all of its pod's addresses, as the agents' are.
func (p *place) anyHost() string {
	if p.crew != nil && p.crew.v6 {
		return "::"
	}
	return "0.0.0.0"
}

// restricted and restrictedPod are what the level restricted of Pod Security asks for.
func restricted() *corev1.SecurityContext {
	yes, user := true, int64(nobody)
	return &corev1.SecurityContext{
		RunAsNonRoot: &yes, RunAsUser: &user, AllowPrivilegeEscalation: new(bool),
		Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func restrictedPod() *corev1.PodSecurityContext {
	yes := true
	return &corev1.PodSecurityContext{RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
}

func port(n int) intstr.IntOrString { return intstr.FromInt32(int32(n)) }
