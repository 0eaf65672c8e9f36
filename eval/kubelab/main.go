// Kubelab is etcd and the stock parts of Kubernetes in one program, which is built and
// kept as one. The name of the program, or else its first argument, says which part it is.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var parts = map[string]func(args []string) int{
	"etcd":                    func(args []string) int { etcdmain.Main(args); return 0 },
	"kube-apiserver":          command(apiserver.NewAPIServerCommand),
	"kube-controller-manager": command(manager.NewControllerManagerCommand),
	"kube-scheduler":          command(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubelet":                 command(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"kubectl":                 command(kubectl.NewDefaultKubectlCommand),
}

// command makes the command only when it runs, as making it registers flags.
func command(make func() *cobra.Command) func([]string) int {
	return func(args []string) int {
		os.Args = args // kubectl reads them by itself
		return cli.Run(make())
	}
}

func main() {
	args := os.Args
	if args[0] = filepath.Base(args[0]); parts[args[0]] == nil && len(args) > 1 {
		args = args[1:]
	}
	part := parts[args[0]]
	if part == nil {
		names := slices.Sorted(maps.Keys(parts))
		fmt.Fprintf(os.Stderr, "usage: kubelab %s ...\n", strings.Join(names, "|"))
		os.Exit(2)
	}
	os.Exit(part(args))
}
