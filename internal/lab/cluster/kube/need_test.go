package kube

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab/cluster/wire"
	"github.com/dynolab/dyno/internal/needs"
)

// The pod of a need is on the subjects' node and not on the agents', belongs to the Job, is admitted at the level restricted, and
// has an agent that sees the server's processes.
func TestNeedPod(t *testing.T) {
	key, err := wire.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	job := new(batchv1.Job)
	job.Name, job.UID = "dyno-x-agents-1", "7"
	p := &place{on: &dyno.Kubernetes{Image: "dyno:1"}, id: "x", key: key, job: job, nodes: []string{"a", "b"}}
	pod := host{p}.needPod(&needs.Pod{
		Name: "My_db_", Image: "postgres:17", Command: []string{"sh", "-ec", "x=$(y)"}, Args: []string{"-p", "$(z)"},
		Env: map[string]string{"DYNO_PASSWORD": "secret"}, Ports: []int{5432}, Data: true, Block: 2, Limit: time.Minute,
	})
	if o := pod.OwnerReferences; len(o) != 1 || o[0].Kind != "Job" || o[0].UID != "7" || !strings.HasPrefix(pod.GenerateName, "dyno-x-need-my-db-") {
		t.Errorf("%s belongs to %v", pod.GenerateName, o)
	}
	s := pod.Spec
	if at := s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms; len(at) != 1 || at[0].MatchFields[0].Values[0] != "b" {
		t.Errorf("it is on %v", at)
	}
	apart := s.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if !slices.ContainsFunc(apart, func(a corev1.PodAffinityTerm) bool { return a.LabelSelector.MatchLabels[roleLabel] == roleAgent }) {
		t.Errorf("it may be on a node with agents: %v", apart)
	}
	if !*s.ShareProcessNamespace || *s.AutomountServiceAccountToken || s.RestartPolicy != corev1.RestartPolicyNever || len(s.Containers) != 2 {
		t.Errorf("spec %+v", s)
	}
	agent, server := s.Containers[0], s.Containers[1]
	if agent.Image != "dyno:1" || !slices.Contains(agent.Args, "--watch") || *agent.SecurityContext.RunAsUser != *server.SecurityContext.RunAsUser {
		t.Errorf("beside it is %+v", agent)
	}
	for _, c := range s.Containers {
		if sc := c.SecurityContext; !*sc.RunAsNonRoot || *sc.AllowPrivilegeEscalation || sc.Capabilities.Drop[0] != "ALL" || sc.SeccompProfile == nil {
			t.Errorf("container %s may do %+v", c.Name, sc)
		}
	}
	if server.Command[2] != "x=$$(y)" || server.Args[1] != "$$(z)" || valueOf(server.Env, "DYNO_PASSWORD") != "secret" || server.StartupProbe.TCPSocket.Port.IntValue() != 5432 {
		t.Errorf("the server is %+v", server)
	}
	var dirs []string
	for _, m := range server.VolumeMounts {
		dirs = append(dirs, m.MountPath)
	}
	if want := []string{needs.DataDir, "/dev/shm", "/etc/passwd"}; !slices.Equal(dirs, want) || pod.Annotations[passwd] != passwdText {
		t.Errorf("it has %q, want %q", dirs, want)
	}
}
