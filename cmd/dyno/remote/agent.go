// Package remote has the commands that bring programs to other machines: agents and images.
package remote

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno/internal/lab/cluster/agent"
	"github.com/dynolab/dyno/internal/lab/cluster/wire"
	"github.com/dynolab/dyno/internal/plan/flags"
)

// NewAgent is the command dyno agent of a version of dyno.
func NewAgent(version string) *cobra.Command {
	var listen, name, trust string
	var watch bool
	var idle time.Duration
	cmd := &cobra.Command{
		Use:   "agent [flags]",
		Short: "Send load for a dyno on another machine",
		Long: `Agent waits for a dyno on another machine, its coordinator, and sends a part of each
load for it, so that one machine need not be both the service's and its load's:

    load machines:      dyno agent --listen :7761
    service's machine:  dyno run ./cmd/server --on 10.0.0.7:7761,10.0.0.8:7761 …

Both sides need one token, in the environment variable ` + wire.TokenName + `. Without it, agent
makes a token and prints it. The token proves each side to the other and encrypts
what they say. All have to run the same version of dyno.

The coordinator builds, launches and watches the service on its own machine. Each
agent takes every Nth request of the one schedule, or its share of the clients. Their
histograms add up, so that percentiles are those of all requests.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			key, err := agentKey(cmd, trust)
			if err != nil {
				return err
			}
			l, err := key.Listen(listen)
			if err != nil {
				return fmt.Errorf("listen as an agent: %w (consider: another --listen)", err)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "dyno %s agent listens on %s\n%s%s\n", version, l.Addr(), agent.KeyLine, key.Public())
			a := agent.Agent{Version: version, Name: name, Watches: watch, Idle: idle, Log: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))}
			return a.Serve(cmd.Context(), l)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&listen, "listen", ":7761", "`address` to listen on")
	fs.StringVar(&name, "name", "", "name of this machine in reports (default its host name)")
	fs.BoolVar(&watch, "watch", false, "also watch processes of this machine for the coordinator; dyno sets it in Kubernetes")
	fs.DurationVar(&idle, "idle", 0, "end after this `time` without a coordinator (default never)")
	fs.StringVar(&trust, "trust", "", "public `key` of the one coordinator to serve, instead of a token; dyno sets it in Kubernetes")
	return cmd
}

func agentKey(cmd *cobra.Command, trust string) (*wire.Key, error) {
	token := os.Getenv(wire.TokenName)
	switch {
	case trust != "" && token != "":
		return nil, flags.Mistakef("--trust and %s are both given (want one)", wire.TokenName)
	case trust != "":
		own, err := wire.NewKey()
		if err != nil {
			return nil, err
		}
		return own.Trusting(trust)
	case token == "":
		token = rand.Text()
		fmt.Fprintf(cmd.ErrOrStderr(), "token of this agent, for its coordinator and for other agents:\n    export %s=%s\n", wire.TokenName, token)
	}
	return wire.TokenKey(token)
}
