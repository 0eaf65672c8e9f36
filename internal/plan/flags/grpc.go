package flags

import (
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan"
)

// grpcFlags say what is called by gRPC.
func (p *Set) grpcFlags(fs *pflag.FlagSet) {
	p.Flag(fs, "grpc-method", "", "method", "call a method by gRPC: pkg.Service/Method, unary or server-streaming", func(e *dyno.Experiment, v string) error {
		l := &e.Load // of the file
		l.Client, l.Targets, l.Program, l.Args = dyno.Client{}, "", "", nil
		return plan.Set(e, "load.grpc.method", v)
	})
	p.Flag(fs, "grpc-data", "", "text", "message in JSON, a template; @FILE has a message on each line, to take in turn as they are", func(e *dyno.Experiment, v string) (err error) {
		g := grpcOf(e)
		g.Data, g.DataFile = nil, ""
		if file, ok := strings.CutPrefix(v, "@"); ok {
			g.DataFile, err = filepath.Abs(file)
		} else {
			g.Data = []string{v}
		}
		return err
	})
	p.List(fs, "grpc-metadata", "", "entry", "metadata of each call, such as 'authorization: Bearer abc'; may be repeated", func(e *dyno.Experiment, vs []string) error {
		return fields("metadata", vs, func(name, value string) error {
			g := grpcOf(e)
			g.Metadata = put(g.Metadata, name, value)
			return nil
		})
	})
	p.Flag(fs, "grpc-descriptors", "", "file", "descriptor set of the service (default: server reflection)", func(e *dyno.Experiment, v string) (err error) {
		grpcOf(e).Descriptors, err = filepath.Abs(v)
		return err
	})
	p.Key(fs, "grpc-authority", "", "name", "load.grpc.authority", "name of the service that is sent to it, and that its certificate has (default: its host and port)")
	p.Key(fs, "grpc-connections", "", "n", "load.grpc.connections", "connections that all clients share (default: each client has its own)")
	p.Key(fs, "grpc-messages", "", "n", "load.grpc.messages", "leave a stream after so many messages (default: read it to its end)")
}

// grpcOf is the part of a plan that is called by gRPC.
func grpcOf(e *dyno.Experiment) *dyno.GRPC {
	if e.Load.GRPC == nil {
		e.Load.GRPC = new(dyno.GRPC)
	}
	return e.Load.GRPC
}
