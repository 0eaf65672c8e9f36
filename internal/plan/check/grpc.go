package check

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

var (
	grpcMethod = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*/[A-Za-z_][A-Za-z0-9_]*$`)
	// As in grpc-go's package metadata; what begins with grpc- is gRPC's own.
	grpcKey = regexp.MustCompile(`^[0-9A-Za-z_.-]+$`)
)

func checkGRPC(l *dyno.Load) *dyno.PlanError {
	g := l.GRPC
	if g == nil {
		return nil
	}
	for _, key := range []struct {
		name  string
		given bool
	}{
		{"program", l.Program != ""}, {"client", given(l.Client) != ""}, {"targets", l.Targets != ""}, {"replay", l.Replay != ""}, {"data", len(l.Data) > 0}, {"http", l.HTTP != ""},
		{"connect_timeout", l.ConnectTimeout > 0}, {"read_timeout", l.ReadTimeout > 0},
	} {
		if key.given {
			return dyno.PlanErrorf("load has grpc and %s (want one: %[1]s is no part of a call by gRPC)", key.name).Of("load", key.name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(g.Metadata)) {
		if lower := strings.ToLower(key); !grpcKey.MatchString(key) || strings.HasPrefix(lower, "grpc-") || slices.Contains([]string{"content-type", "te", "user-agent"}, lower) {
			return dyno.PlanErrorf("bad name %q of metadata (want letters, digits, _, . and -; content-type, te, user-agent and grpc- are gRPC's own)", key).Of("load", "grpc", "metadata", key)
		}
	}
	switch {
	case g.Method == "":
		return dyno.PlanErrorf("load grpc has no method (want for example method: helloworld.Greeter/SayHello)").Of("load", "grpc")
	case !grpcMethod.MatchString(g.Path()):
		return dyno.PlanErrorf("bad method %q (want for example helloworld.Greeter/SayHello)", g.Method).Of("load", "grpc", "method")
	case len(g.Data) > 0 && g.DataFile != "":
		return dyno.PlanErrorf("load grpc has data and data_file (want one)").Of("load", "grpc", "data_file")
	}
	return nil
}
