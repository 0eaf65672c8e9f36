package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	// A set or a service may leave these files out.
	_ "google.golang.org/protobuf/types/known/anypb"
	_ "google.golang.org/protobuf/types/known/apipb"
	_ "google.golang.org/protobuf/types/known/durationpb"
	_ "google.golang.org/protobuf/types/known/emptypb"
	_ "google.golang.org/protobuf/types/known/fieldmaskpb"
	_ "google.golang.org/protobuf/types/known/structpb"
	_ "google.golang.org/protobuf/types/known/timestamppb"
	_ "google.golang.org/protobuf/types/known/wrapperspb"
)

// A method is what is called.
type method struct {
	name    string // pkg.Service/Method
	path    string // with a leading slash, as it is sent
	streams bool
	input   protoreflect.MessageDescriptor
	types   *dynamicpb.Types // of the service's files
}

// learned is the method, once the first client has learned it for all.
type learned struct {
	sync.Once
	method *method
	err    error
}

func (k *learned) once(ctx context.Context, l *load, conn *grpc.ClientConn) (*method, error) {
	k.Do(func() { k.method, k.err = l.learn(ctx, conn) })
	return k.method, k.err
}

// learn finds the method and its messages.
func (l *load) learn(ctx context.Context, conn *grpc.ClientConn) (*method, error) {
	service, name, _ := strings.Cut(l.Method, "/")
	var files *protoregistry.Files
	var err error
	if len(l.Descriptors) > 0 {
		files, err = described(l.Descriptors)
	} else {
		if files, err = reflected(ctx, conn, service); err != nil {
			err = fmt.Errorf("ask for %s by server reflection: %w (consider: load.grpc.descriptors, a descriptor set)", service, err)
		}
	}
	if err != nil {
		return nil, err
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(service))
	s, ok := d.(protoreflect.ServiceDescriptor)
	if err != nil || !ok {
		return nil, fmt.Errorf("the descriptor set has no service %s (it has %s)", service, listed(servicesOf(files)))
	}
	m := s.Methods().ByName(protoreflect.Name(name))
	if m == nil {
		return nil, fmt.Errorf("service %s has no method %s (it has %s)", service, name, listed(methodsOf(s)))
	}
	if m.IsStreamingClient() {
		return nil, fmt.Errorf("%s takes a stream of requests, which load.grpc cannot send (consider: load.program, a load written in Go)", l.Method)
	}
	return &method{
		name: l.Method, path: "/" + l.Method, streams: m.IsStreamingServer(),
		input: m.Input(), types: dynamicpb.NewTypes(files),
	}, nil
}

func servicesOf(files *protoregistry.Files) (names []string) {
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			names = append(names, string(f.Services().Get(i).FullName()))
		}
		return true
	})
	return names
}

func methodsOf(s protoreflect.ServiceDescriptor) (names []string) {
	for i := range s.Methods().Len() {
		names = append(names, string(s.Methods().Get(i).Name()))
	}
	return names
}

// listed is a list for an error.
func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	const most = 20
	if len(names) > most {
		names = append(names[:most:most], fmt.Sprintf("%d others", len(names)-most))
	}
	return strings.Join(names, ", ")
}

// described reads a descriptor set.
func described(text []byte) (*protoregistry.Files, error) {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(text, &set); err != nil || len(set.File) == 0 {
		return nil, errors.New("the file of load.grpc.descriptors is no descriptor set (consider: protoc --include_imports --descriptor_set_out FILE, or buf build -o FILE)")
	}
	all := map[string]*descriptorpb.FileDescriptorProto{}
	for _, f := range set.File {
		all[f.GetName()] = f
	}
	files, err := linked(all, func(name string) (*descriptorpb.FileDescriptorProto, error) {
		return nil, fmt.Errorf("the descriptor set lacks %s (consider: protoc --include_imports)", name)
	})
	return files, err
}

// linked makes descriptors of files, and asks more for those that are missing. It adds them to all.
func linked(all map[string]*descriptorpb.FileDescriptorProto, more func(name string) (*descriptorpb.FileDescriptorProto, error)) (*protoregistry.Files, error) {
	for missing := true; missing; {
		missing = false
		for _, f := range slices.Collect(maps.Values(all)) {
			for _, needs := range f.GetDependency() {
				if all[needs] != nil {
					continue
				}
				missing = true
				f, err := more(needs)
				if err != nil {
					known, none := protoregistry.GlobalFiles.FindFileByPath(needs)
					if none != nil {
						return nil, err
					}
					f = protodesc.ToFileDescriptorProto(known)
				}
				all[needs] = f
			}
		}
	}
	var set descriptorpb.FileDescriptorSet
	for _, f := range all {
		set.File = append(set.File, f)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, fmt.Errorf("the descriptors do not fit together: %w", err)
	}
	return files, nil
}

// reflected asks the service for the files of one of its services.
func reflected(ctx context.Context, conn *grpc.ClientConn, service string) (*protoregistry.Files, error) {
	var err error
	// The older version has other names and the same messages.
	for _, version := range []string{"v1", "v1alpha"} {
		var files *protoregistry.Files
		if files, err = (&asker{ctx: ctx, conn: conn, version: version}).files(service); status.Code(err) != codes.Unimplemented {
			return files, err
		}
	}
	return nil, errors.New("the service has no server reflection (consider: load.grpc.descriptors, a descriptor set; or reflection.Register(server) in the service)")
}

// An asker asks by reflection.
type asker struct {
	ctx     context.Context
	conn    *grpc.ClientConn
	version string
	stream  grpc.ClientStream
}

func (a *asker) files(service string) (*protoregistry.Files, error) {
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	var err error
	a.stream, err = a.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		"/grpc.reflection."+a.version+".ServerReflection/ServerReflectionInfo")
	if err != nil {
		return nil, err
	}
	defer a.stream.CloseSend()
	all := map[string]*descriptorpb.FileDescriptorProto{}
	err = a.add(all, &grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service},
	})
	if no := new(noAnswer); errors.As(err, &no) {
		return nil, fmt.Errorf("no service %s (server reflection has %s)", service, listed(a.services()))
	}
	if err != nil {
		return nil, err
	}
	return linked(all, func(name string) (*descriptorpb.FileDescriptorProto, error) {
		err := a.add(all, &grpc_reflection_v1.ServerReflectionRequest{
			MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileByFilename{FileByFilename: name},
		})
		if err == nil && all[name] == nil {
			err = errors.New("it sent another file")
		}
		if err != nil {
			return nil, fmt.Errorf("server reflection does not give %s: %w", name, err)
		}
		return all[name], nil
	})
}

// A noAnswer is what the service says instead of an answer.
type noAnswer struct{ text string }

func (e *noAnswer) Error() string { return e.text }

func (a *asker) ask(q *grpc_reflection_v1.ServerReflectionRequest) (*grpc_reflection_v1.ServerReflectionResponse, error) {
	if err := a.stream.SendMsg(q); err != nil && err != io.EOF { // the reason of an EOF is what RecvMsg says
		return nil, err
	}
	answer := new(grpc_reflection_v1.ServerReflectionResponse)
	if err := a.stream.RecvMsg(answer); err != nil {
		return nil, err
	}
	if e := answer.GetErrorResponse(); e != nil {
		return nil, &noAnswer{e.GetErrorMessage()}
	}
	return answer, nil
}

// add adds the files of an answer.
func (a *asker) add(all map[string]*descriptorpb.FileDescriptorProto, q *grpc_reflection_v1.ServerReflectionRequest) error {
	answer, err := a.ask(q)
	if err != nil {
		return err
	}
	for _, text := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
		f := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(text, f); err != nil {
			return fmt.Errorf("server reflection: %w", err)
		}
		all[f.GetName()] = f
	}
	return nil
}

func (a *asker) services() (names []string) {
	answer, err := a.ask(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}})
	if err == nil {
		for _, s := range answer.GetListServicesResponse().GetService() {
			names = append(names, s.GetName())
		}
	}
	return names
}
