package dyno

import "strings"

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
