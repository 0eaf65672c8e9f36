package kube

import (
	"context"
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dynolab/dyno/internal/lab/cluster/wire"
	"github.com/dynolab/dyno/internal/needs"
)

const (
	serverName = "server"
	// passwd gives the pod's user a name, which databases look up. It comes from an annotation of the pod: a ConfigMap would need
	// rights of its own.
	passwd     = "dyno.dev/passwd"
	passwdText = "root:x:0:0::/:/bin/sh\ndyno:x:65532:65532::/:/bin/sh\n"
	// sharedMemory is what Postgres may share between the processes of a query: the 64 MiB of a container are soon full.
	sharedMemory = "1Gi"
)

// A host runs what subjects need in pods on their node.
type host struct{ *place }

func (h host) Any() string { return h.anyHost() }

// Run implements needs.Host.
func (h host) Run(ctx context.Context, n *needs.Pod) (*needs.Hosted, error) {
	g := &guest{place: h.place, name: serverName, what: serverName, log: n.Log}
	if err := g.open(ctx, h.needPod(n)); err != nil {
		return nil, err
	}
	err := g.ready(ctx, n.Limit, fmt.Sprintf("port %d (consider: a longer ready_timeout)", n.Ports[0]))
	if err == nil {
		h.stay(g.pod.Spec.NodeName)
		err = g.meet(ctx, n.Ports...)
	}
	pid := 0
	if err == nil {
		pid, err = g.find()
	}
	if err != nil {
		g.end(0)
		return nil, err
	}
	g.attend(ctx)
	return &needs.Hosted{
		Host: g.pod.Status.PodIP, Addrs: g.way.addrs[1:], Done: g.done, Err: g.why,
		Usage: func(context.Context) (cpu, rss float64, err error) {
			a, err := g.ask(wire.Look{What: wire.LookUsage, PID: pid})
			if err != nil {
				return 0, 0, err
			}
			return a.CPU, a.Resident, nil
		},
		Stop: func() { g.end(1) }, // what is left of it is gone with the Job
	}, nil
}

// needPod is the pod of a server.
func (h host) needPod(n *needs.Pod) *corev1.Pod {
	c := corev1.Container{
		Name: serverName, Image: n.Image, Command: literals(n.Command), Args: literals(n.Args), Env: with(nil, n.Env), SecurityContext: restricted(),
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("64Mi")}},
		StartupProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: port(n.Ports[0])}},
			PeriodSeconds: 1, TimeoutSeconds: 5, FailureThreshold: int32(math.Ceil(n.Limit.Seconds())) + 60, // dyno itself gives up before
		},
	}
	spec := &corev1.PodSpec{AutomountServiceAccountToken: new(bool), SecurityContext: restrictedPod()}
	if n.Data {
		mount(spec, &c, "data", needs.DataDir)
		mount(spec, &c, "memory", "/dev/shm")
		most := resource.MustParse(sharedMemory)
		spec.Volumes[1].EmptyDir = &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &most}
		field := &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['" + passwd + "']"}
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "passwd", VolumeSource: corev1.VolumeSource{
			DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{{Path: "passwd", FieldRef: field}}},
		}})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "passwd", MountPath: "/etc/passwd", SubPath: "passwd", ReadOnly: true})
	}
	spec.Containers = []corev1.Container{c}
	name := strings.Trim(strings.ToLower(strings.ReplaceAll(n.Name, "_", "-")), "-")
	pod := h.guestPod("need-"+name, spec, h.sampler(), h.nodeOf(n.Block))
	pod.Annotations[passwd] = passwdText
	return pod
}

func literals(texts []string) (out []string) {
	for _, text := range texts {
		out = append(out, literal(text))
	}
	return out
}
