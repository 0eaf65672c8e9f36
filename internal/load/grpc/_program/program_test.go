package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/dynolab/dyno/internal/load/rpc"
	"github.com/dynolab/dyno/load/client"
)

const (
	unary  = "grpc.testing.TestService/UnaryCall"
	stream = "grpc.testing.TestService/StreamingOutputCall"
)

// A service notes what it was asked.
type service struct {
	testpb.UnimplementedTestServiceServer
	asked chan *testpb.SimpleRequest
	md    chan metadata.MD
}

func (s *service) UnaryCall(ctx context.Context, q *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	select {
	case s.asked <- q:
		s.md <- md
	default:
	}
	if st := q.GetResponseStatus(); st != nil {
		return nil, status.Error(codes.Code(st.Code), st.Message)
	}
	if q.FillUsername { // it hangs
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &testpb.SimpleResponse{Payload: &testpb.Payload{Body: make([]byte, q.ResponseSize)}}, nil
}

func (s *service) StreamingOutputCall(q *testpb.StreamingOutputCallRequest, to grpc.ServerStreamingServer[testpb.StreamingOutputCallResponse]) error {
	for _, p := range q.ResponseParameters {
		if err := to.Send(&testpb.StreamingOutputCallResponse{Payload: &testpb.Payload{Body: make([]byte, p.Size)}}); err != nil {
			return err
		}
	}
	return nil
}

// serve starts a service; learn registers its server reflection.
func serve(t *testing.T, learn func(*grpc.Server), options ...grpc.ServerOption) (*service, client.Target) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &service{asked: make(chan *testpb.SimpleRequest, 100), md: make(chan metadata.MD, 100)}
	server := grpc.NewServer(options...)
	testpb.RegisterTestServiceServer(server, s)
	if learn != nil {
		learn(server)
	}
	go server.Serve(l)
	t.Cleanup(server.Stop)
	addr := l.Addr().String()
	return s, client.Target{URL: "http://" + addr, Addr: addr, Seed: 1}
}

func reflects(s *grpc.Server) { reflection.Register(s) }

// open opens a client.
func open(t *testing.T, c rpc.Config, to client.Target) *caller {
	t.Helper()
	k, err := newLoad(c).open(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k.(*caller)
}

func do(t *testing.T, c *caller) *client.Request {
	t.Helper()
	r := new(client.Request)
	if err := c.Do(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestUnary(t *testing.T) {
	s, to := serve(t, reflects)
	c := open(t, rpc.Config{Method: unary, Data: []string{`{"responseSize": 1000, "expectCompressed": {"value": true}}`}}, to)
	r := do(t, c)
	if q := <-s.asked; q.ResponseSize != 1000 || !q.ExpectCompressed.GetValue() {
		t.Errorf("the service got %v", q)
	}
	if r.Received < 1000 || r.Received > 1020 || r.Sent < 8 || r.Sent > 20 || r.Messages != 0 {
		t.Errorf("%+v", r)
	}
}

func TestStream(t *testing.T) {
	_, to := serve(t, reflects)
	data := []string{`{"responseParameters": [{"size": 10}, {"size": 20}, {"size": 30}]}`}
	if r := do(t, open(t, rpc.Config{Method: stream, Data: data}, to)); r.Messages != 3 || r.Received < 60 {
		t.Errorf("%+v", r)
	}
	c := open(t, rpc.Config{Method: stream, Data: data, Messages: 2}, to)
	for range 3 {
		if r := do(t, c); r.Messages != 2 {
			t.Errorf("left after 2 messages: %+v", r)
		}
	}
	if r := do(t, open(t, rpc.Config{Method: stream}, to)); r.Messages != 0 {
		t.Errorf("an empty stream: %+v", r)
	}
}

// A service may have the older version only, and a descriptor set needs neither.
func TestLearn(t *testing.T) {
	old := func(s *grpc.Server) {
		grpc_reflection_v1alpha.RegisterServerReflectionServer(s, reflection.NewServer(reflection.ServerOptions{Services: s}))
	}
	set := &descriptorpb.FileDescriptorSet{}
	files := testpb.File_grpc_testing_test_proto
	set.File = append(set.File, protodesc.ToFileDescriptorProto(files))
	for i := range files.Imports().Len() {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(files.Imports().Get(i).FileDescriptor))
	}
	whole, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	set.File = set.File[:1]
	part, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		learn   func(*grpc.Server)
		set     []byte
		method  string
		mistake string
	}{
		{"v1", reflects, nil, unary, ""},
		{"v1alpha", old, nil, unary, ""},
		{"set", nil, whole, unary, ""},
		{"none", nil, nil, unary, "the service has no server reflection (consider: load.grpc.descriptors"},
		{"no service", reflects, nil, "a.B/C", "no service a.B (server reflection has grpc.reflection.v1.ServerReflection, grpc.reflection.v1alpha.ServerReflection, grpc.testing.TestService)"},
		{"no method", reflects, nil, "grpc.testing.TestService/Unary", "service grpc.testing.TestService has no method Unary (it has CacheableUnaryCall, "},
		{"no service in a set", nil, whole, "a.B/C", "the descriptor set has no service a.B (it has grpc.testing."},
		{"no set", nil, []byte("text"), unary, "is no descriptor set"},
		{"a part of a set", nil, part, unary, ""}, // the program of this test has the others
		{"client-streaming", reflects, nil, "grpc.testing.TestService/StreamingInputCall", "takes a stream of requests"},
		{"bidi", reflects, nil, "grpc.testing.TestService/FullDuplexCall", "takes a stream of requests"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, to := serve(t, c.learn)
			k, err := newLoad(rpc.Config{Method: c.method, Descriptors: c.set}).open(t.Context(), to)
			if c.mistake != "" {
				if err == nil || !strings.Contains(err.Error(), c.mistake) {
					t.Errorf("got %v, want %s", err, c.mistake)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer k.Close()
			do(t, k.(*caller))
		})
	}
}

func TestMetadata(t *testing.T) {
	s, to := serve(t, reflects)
	c := open(t, rpc.Config{Method: unary, Metadata: map[string]string{"Authorization": "Bearer {{.arg.token}}", "loop": "{{.n}}", "trace-bin": "AAH/"}, Arg: map[string]string{"token": "abc"}, Authority: "api.example.org"}, to)
	for n := range 3 {
		do(t, c)
		md := <-s.md
		if !slices.Equal(md["authorization"], []string{"Bearer abc"}) || !slices.Equal(md["loop"], []string{fmt.Sprint(n)}) ||
			!slices.Equal(md["trace-bin"], []string{"\x00\x01\xff"}) || !slices.Equal(md[":authority"], []string{"api.example.org"}) {
			t.Errorf("call %d: %v", n, md)
		}
	}
}

// Messages are taken in turn by all clients, and what varies does.
func TestMessages(t *testing.T) {
	s, to := serve(t, reflects)
	l := newLoad(rpc.Config{Method: unary, Data: []string{`{"responseSize": 1}`, `{"responseSize": {{random 7 7}}, "payload": {"body": "{{counter}}AAA"}}`, `{"responseSize": 3}`}})
	var clients []*caller
	for i := range 2 {
		to.Client = i
		c, err := l.open(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c.(*caller))
	}
	sizes := map[int32]int{}
	for i := range 12 {
		do(t, clients[i%2])
		sizes[(<-s.asked).ResponseSize]++
		<-s.md
	}
	// Each client has made its next message ahead.
	if sizes[1] < 3 || sizes[7] < 3 || sizes[3] < 3 {
		t.Errorf("messages by size: %v", sizes)
	}
	// Of several generators, each has numbers and messages of its own.
	for i := range 2 {
		to.Index, to.Of = i, 2
		c := open(t, rpc.Config{Method: unary, Data: []string{`{"responseSize": 1}`, `{"responseSize": 2}`}, Metadata: map[string]string{"number": "{{counter}}"}}, to)
		for n := range 3 {
			do(t, c)
			if size, number := (<-s.asked).ResponseSize, (<-s.md)["number"]; size != int32(1+i) || number[0] != fmt.Sprint(2*n+i) {
				t.Errorf("generator %d, call %d: message %d, number %s", i, n, size, number)
			}
		}
	}
	to.Index, to.Of = 0, 1
	lines := open(t, rpc.Config{Method: unary, Lines: []string{`{"responseSize":4}`, `{"responseStatus":{"code":8,"message":"{{.n}}"}}`}}, to)
	do(t, lines)
	if err := lines.Do(t.Context(), new(client.Request)); err == nil || err.Error() != "{{.n}}" {
		t.Errorf("a line is a template: %v", err)
	}
}

func TestBadData(t *testing.T) {
	_, to := serve(t, reflects)
	for data, want := range map[string]string{
		`{"size": 1}`:           `unknown field "size" (its fields: expect_compressed grpc.testing.BoolValue, fill_grpclb_route_type bool`,
		`{"responseSize": "x"}`: `invalid value for int32 field responseSize: "x"`,
		`{"responseSize": 1`:    "unexpected EOF",
		`{{.m}}`:                "unknown variable m",
		`[1]`:                   "is no grpc.testing.SimpleRequest",
	} {
		_, err := newLoad(rpc.Config{Method: unary, Data: []string{data}}).open(t.Context(), to)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", data, err, want)
		}
	}
	_, err := newLoad(rpc.Config{Method: unary, Metadata: map[string]string{"a-bin": "%"}}).open(t.Context(), to)
	if err == nil || !strings.Contains(err.Error(), "metadata a-bin: its value is not in base64") {
		t.Error(err)
	}
}

func TestFailures(t *testing.T) {
	_, to := serve(t, reflects)
	c := open(t, rpc.Config{Method: unary, Data: []string{`{"responseStatus": {"code": 8, "message": "no quota"}}`}}, to)
	if err := c.Do(t.Context(), new(client.Request)); err == nil || err.Error() != "no quota" {
		t.Errorf("%v", err)
	}
	c = open(t, rpc.Config{Method: unary, Data: []string{`{"fillUsername": true}`}}, to)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := c.Do(ctx, new(client.Request)); err != context.DeadlineExceeded {
		t.Errorf("%v", err)
	}
	reset := status.Error(codes.Canceled, "stream terminated by RST_STREAM with error code: CANCEL")
	if err := new(caller).failed(lateTimer{t.Context()}, reset); err != context.DeadlineExceeded {
		t.Errorf("the service was quicker with the deadline than the timer here: %v", err)
	}
	if err := new(caller).failed(t.Context(), reset); err == context.DeadlineExceeded || err == nil {
		t.Errorf("the service reset a stream without a deadline: %v", err)
	}
}

// A lateTimer is a context whose deadline is over, though its timer has not run yet.
type lateTimer struct{ context.Context }

func (lateTimer) Deadline() (time.Time, bool) { return time.Now(), true }

func TestNoService(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, err = newLoad(rpc.Config{Method: unary}).open(t.Context(), client.Target{URL: "http://" + addr, Addr: addr})
	if err == nil || !strings.Contains(err.Error(), "connect to "+addr) || !strings.Contains(err.Error(), "connection refused") {
		t.Error(err)
	}
}

func TestTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	_, to := serve(t, reflects, grpc.Creds(credentials.NewServerTLSFromCert(&tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key})))
	plain := to
	to.URL = "https://" + to.Addr
	do(t, open(t, rpc.Config{Method: unary, Insecure: true}, to))
	if _, err := newLoad(rpc.Config{Method: unary}).open(t.Context(), to); err == nil || !strings.Contains(err.Error(), "x509: certificate signed by unknown authority") {
		t.Errorf("a stranger's certificate: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := newLoad(rpc.Config{Method: unary}).open(ctx, plain); err == nil {
		t.Error("without TLS, it connects")
	} else {
		t.Log(err)
	}
}

// Connections are shared if the plan says so, and closed with the last client.
func TestConnections(t *testing.T) {
	_, to := serve(t, reflects)
	for connections, want := range map[int]int{0: 6, 2: 2} {
		l := newLoad(rpc.Config{Method: unary, Connections: connections})
		conns := map[*grpc.ClientConn]bool{}
		var all []client.Client
		for i := range 6 {
			to.Client = i
			c, err := l.open(t.Context(), to)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
			conns[c.(*caller).link.conn] = true
		}
		if len(conns) != want {
			t.Errorf("connections: %d: %d of 6 clients", connections, len(conns))
		}
		for _, c := range all {
			do(t, c.(*caller))
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		if len(l.links.shared) != 0 {
			t.Error("a connection is left")
		}
	}
}
