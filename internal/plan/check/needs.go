package check

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// checkNeeds checks what the subject of a trial needs.
func checkNeeds(e *dyno.Experiment, t *dyno.Trial) *dyno.PlanError {
	needs := t.Subject.Needs
	if err := checkUses(&t.Subject); err != nil {
		return err
	}
	if len(needs) == 0 {
		return nil
	}
	if e.On.Kubernetes == nil && e.Bench == nil && !e.Subject.Launched() {
		return checkWatched(needs)
	}
	order, err := dyno.NeedsInOrder(needs)
	if err != nil {
		return err
	}
	if err := cmp.Or(
		wrong(e.Bench == nil && e.On.Kubernetes == nil && !e.LaunchedHere(), "needs", "needs are started for a subject that dyno launches, not for %s (consider: start them yourself)", &e.Subject),
		wrong(e.Slice > 0, "needs", "slices have no needs yet (consider: a run without slice)"),
	); err != nil {
		return err
	}
	for _, name := range order {
		need := needs[name]
		if err := checkNeed(name, &need); err != nil {
			return err
		}
		if e.On.Kubernetes == nil {
			continue
		}
		if err := checkPod(name, &need, len(e.On.Kubernetes.Nodes)); err != nil {
			return err
		}
	}
	return nil
}

// checkUses finds names of needs that are in the templates of a subject, but not in the plan.
func checkUses(s *dyno.Subject) *dyno.PlanError {
	for _, name := range s.Uses() {
		if _, ok := s.Needs[name]; !ok {
			return dyno.PlanErrorf("the subject uses {{.needs.%s}}, which is not there (%s)", name, dyno.WantNeed(s.Needs, name)).Of("subject")
		}
	}
	return nil
}

func checkName(name string) *dyno.PlanError {
	for _, metric := range dyno.Metrics {
		if s := name + "-" + metric.Name; slices.ContainsFunc(dyno.Metrics, func(m dyno.Metric) bool { return m.Name == s }) {
			return dyno.PlanErrorf("%s is no name for a need, as %s is a metric of dyno's (want another name)", name, s).Of("needs", name)
		}
	}
	return wrong(!dyno.IsName(name), "needs "+name, "bad name %q of a need (want letters, digits and _)", name)
}

// checkWatched checks what a service needs that runs already: processes, and nothing else.
func checkWatched(needs map[string]dyno.Need) *dyno.PlanError {
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		need := needs[name]
		at := "needs " + name
		if err := cmp.Or(
			checkName(name),
			wrong(need.PID <= 0 || !reflect.DeepEqual(need, dyno.Need{PID: need.PID}), at, "of a service that runs already, a need is a process (want for example needs: {%s: {pid: 1234}})", name),
		); err != nil {
			return err
		}
	}
	return nil
}

func checkNeed(name string, n *dyno.Need) *dyno.PlanError {
	at := "needs " + name
	kind, server := n.Kind()
	forms := 0
	for _, given := range []bool{n.Postgres != nil, n.Redis != nil, n.NATS != nil, n.MySQL != nil, n.Package != "", len(n.Command) > 0, n.URL != "", server == nil && n.Image != ""} {
		if given {
			forms++
		}
	}
	own := slices.Contains([]string{"package", "command", "image"}, kind)
	return cmp.Or(
		checkName(name),
		wrong(forms == 0, at, "need %s does not say what it is (want one of postgres, redis, nats, mysql, package, command, image and url)", name),
		wrong(forms > 1, at, "need %s is several things (want one of postgres, redis, nats, mysql, package, command, image and url)", name),
		wrong(!slices.Contains([]string{"", dyno.PerLaunch, dyno.PerBlock, dyno.PerRun}, n.Per), at+" per", "bad per %q (want launch, block or run)", n.Per),
		wrong(n.PID != 0 && n.URL == "", at+" pid", "pid is for a need with a url, which runs already"),
		wrong(n.Per != "" && kind == "url", at+" per", "need %s runs already, and dyno does not start it again (want no per)", name),
		wrong(!own && (len(n.Env) > 0 || n.Ready != "" || n.ReadyLog != "" || n.ReadyCommand != nil), at, "env and ready are for a package, a command or an image; need %s is %s", name, kind),
		wrong(n.Ready != "" && n.Ready != dyno.ReadyTCP && !strings.HasPrefix(n.Ready, "/"), at+" ready", "ready: %q is not a URL path (want for example /healthz, or tcp)", n.Ready),
		wrong(kind != "package" && n.Rev != "", at+" rev", "rev is for a package; need %s is %s", name, kind),
		wrong(kind != "package" && kind != "image" && len(n.Args) > 0, at+" args", "args are for a package or an image; need %s is %s (consider: args in %[2]s)", name, kind),
		wrong(kind != "image" && (n.Port != 0 || n.Mounts != nil), at, "port and mounts are for an image that dyno does not know; need %s is %s", name, kind),
		wrong(n.Port != 0 && len(dyno.NeedsIn(slices.Concat(n.Args, slices.Sorted(maps.Values(n.Env)))...)) > 0, at+" port", "an image with a port of its own does not reach other needs (consider: no port, and {{.Addr}} in its args or env)"),
		wrong(n.Port < 0 || n.Port > 65535, at+" port", "bad port %d", n.Port),
		wrong(n.OrInstalled && (n.Image == "" || server == nil), at+" or_installed", "or_installed is for an image of postgres, redis, nats or mysql"),
		wrong(n.Image != "" && server == nil && kind != "image", at+" image", "image is for a server, or alone; need %s is %s", name, kind),
		wrong(n.Image != "" && server != nil && server.Version != "", at+" version", "an image has its version in its name (want one of version and image)"),
		wrong(server == nil && n.User != "", at+" user", "user is for postgres, redis, nats and mysql; need %s is %s", name, kind),
		wrong(len(n.Fill) > 0 && (server == nil || kind == "nats"), at+" fill", "fill is for postgres, redis and mysql; need %s is %s (consider: reset, a command that runs before each launch)", name, kind),
		wrong(len(dyno.NeedsIn(n.Fill...)) > 0, at+" fill", "fill runs before other needs are there: it knows its own server alone (want {{.URL}}, {{.Addr}})"),
		wrong(kind == "nats" && len(n.NATS.Seed) > 0, at+" nats seed", "a NATS server has no seed (consider: reset, a command that fills it)"),
	)
}

// checkPod checks a need that runs in a pod, on one of so many nodes.
func checkPod(name string, n *dyno.Need, nodes int) *dyno.PlanError {
	at := "needs " + name
	kind, _ := n.Kind()
	return cmp.Or(
		wrong(kind == "package" || kind == "command", at, "in Kubernetes need %s is an image, not a %s (consider: dyno image makes an image of a main package; then image: NAME)", name, kind),
		wrong(len(n.Mounts) > 0, at+" mounts", "mounts are of this machine, and a pod has none of its files (consider: an image that has them)"),
		wrong(n.User != "", at+" user", "in Kubernetes all needs run as user 65532 (want no user)"),
		wrong(len(n.ReadyCommand) > 0, at+" ready_command", "in Kubernetes no command tells whether a need is ready, as dyno may not run any in its pods (consider: ready or ready_log)"),
		wrong(n.Delay > 0 || n.Drops() > 0 || n.Relayed, at, "delay and drop are for a subject on this machine, as the relay runs here (consider: no on)"),
		wrong(n.PID != 0, at+" pid", "pid is of a process on this machine, and need %s is for a pod (want url alone)", name),
		wrong(n.URL != "" && local(n.URL), at+" url", "to a pod %s is the pod itself (want an address that pods reach)", n.URL),
		wrong(n.Per == dyno.PerRun && nodes > 1, at+" per", "need %s cannot be on %d nodes for a whole run (consider: per: block)", name, nodes),
		wrong(len(dyno.NeedsIn(n.Reset...)) > 0, at+" reset", "in Kubernetes a reset runs on this machine, which reaches its own server alone (want {{.URL}}, {{.Addr}})"),
	)
}
