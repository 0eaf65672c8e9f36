package campaign

import (
	"context"
	"fmt"
	"os"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/lab/cluster"
	"github.com/dynolab/dyno/internal/lab/cluster/kube"
	"github.com/dynolab/dyno/internal/lab/cluster/wire"
	"github.com/dynolab/dyno/internal/plan/flags"
)

// Stay keeps the subjects of a run that is resumed on their node, where the plan names none.
func Stay(e *dyno.Experiment, results []*dyno.Result) {
	k := e.On.Kubernetes
	if k == nil || len(k.Nodes) > 0 {
		return
	}
	for _, r := range results {
		if r.Node != nil {
			own := *k // the stored plan stays as it is
			own.Nodes = []string{r.Node.Name}
			e.On.Kubernetes = &own
			return
		}
	}
}

// place returns a lab where the plan says that trials run. The caller releases it.
func place(ctx context.Context, e *dyno.Experiment, version string) (*lab.Lab, func() error, error) {
	switch {
	case e.On.Kubernetes != nil:
		return kube.Open(ctx, e, version)
	case len(e.On.Agents) == 0:
		return lab.Open("")
	}
	token := os.Getenv(wire.TokenName)
	if token == "" {
		return nil, nil, flags.Mistakef("no token for agents (want the one that dyno agent printed, in the environment variable %s)", wire.TokenName)
	}
	key, err := wire.TokenKey(token)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", wire.TokenName, err)
	}
	f := &cluster.Fleet{Version: version, Key: key}
	for _, addr := range e.On.Agents {
		f.Members = append(f.Members, cluster.Member{Name: addr})
	}
	return cluster.Open(ctx, f)
}
