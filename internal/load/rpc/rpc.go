// Package rpc is what dyno tells its program for gRPC: the plan's load.grpc, with the contents of files.
package rpc

// A Config is the text of the program's configuration, with the contents of the files that it names.
type Config struct {
	Method      string            // pkg.Service/Method
	Data        []string          // messages in JSON, taken in turn: templates; none means one without fields
	Lines       []string          // instead: messages in JSON, as they are
	Metadata    map[string]string // of each call; values are templates
	Arg         map[string]string // values of {{.arg.NAME}}
	Descriptors []byte            // a FileDescriptorSet; none means that the service is asked, by reflection
	Authority   string            // "" means host and port
	Insecure    bool              // the service's certificate is not verified
	Connections int               // that all clients share; 0 means one of each client
	Messages    int               // a stream is left after so many; 0 means that it is read to its end
}
