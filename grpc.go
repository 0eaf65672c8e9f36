package dyno

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A GRPC is one method that a load calls, unary or server-streaming. Its messages are known from the
// service, by server reflection, or from Descriptors.
type GRPC struct {
	Method      string            `json:"method,omitempty"`      // pkg.Service/Method
	Data        []string          `json:"data,omitempty"`        // messages in JSON, taken in turn; templates, as a Step's body; none means one without fields
	DataFile    string            `json:"data_file,omitempty"`   // instead of Data: a file with a message in JSON on each line, as they are
	Metadata    map[string]string `json:"metadata,omitempty"`    // of each call; values are templates, of names that end in -bin in base64
	Descriptors string            `json:"descriptors,omitempty"` // a file: a FileDescriptorSet with its imports
	Authority   string            `json:"authority,omitempty"`   // "" means host and port of the service; TLS verifies it
	Connections int               `json:"connections,omitempty"` // that all clients share; 0 means one of each client
	Messages    int               `json:"messages,omitempty"`    // a stream is left after so many; 0 means that it is read to its end
}

// Path is the method as pkg.Service/Method, which may be written pkg.Service.Method, too.
func (g *GRPC) Path() string {
	m := strings.TrimPrefix(g.Method, "/")
	if i := strings.LastIndexByte(m, '.'); i >= 0 && !strings.Contains(m, "/") {
		m = m[:i] + "/" + m[i+1:]
	}
	return m
}

func (g *GRPC) uses(arg string) bool {
	return slices.ContainsFunc(slices.AppendSeq(slices.Clone(g.Data), maps.Values(g.Metadata)), func(s string) bool { return usesArg(s, arg) })
}

var (
	grpcMethod = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*/[A-Za-z_][A-Za-z0-9_]*$`)
	// As in grpc-go's package metadata; what begins with grpc- is gRPC's own.
	grpcKey = regexp.MustCompile(`^[0-9A-Za-z_.-]+$`)
)

func (l *Load) checkGRPC() *PlanError {
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
			return PlanErrorf("load has grpc and %s (want one: %[1]s is no part of a call by gRPC)", key.name).Of("load", key.name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(g.Metadata)) {
		if lower := strings.ToLower(key); !grpcKey.MatchString(key) || strings.HasPrefix(lower, "grpc-") || slices.Contains([]string{"content-type", "te", "user-agent"}, lower) {
			return PlanErrorf("bad name %q of metadata (want letters, digits, _, . and -; content-type, te, user-agent and grpc- are gRPC's own)", key).Of("load", "grpc", "metadata", key)
		}
	}
	switch {
	case g.Method == "":
		return PlanErrorf("load grpc has no method (want for example method: helloworld.Greeter/SayHello)").Of("load", "grpc")
	case !grpcMethod.MatchString(g.Path()):
		return PlanErrorf("bad method %q (want for example helloworld.Greeter/SayHello)", g.Method).Of("load", "grpc", "method")
	case len(g.Data) > 0 && g.DataFile != "":
		return PlanErrorf("load grpc has data and data_file (want one)").Of("load", "grpc", "data_file")
	}
	return nil
}
