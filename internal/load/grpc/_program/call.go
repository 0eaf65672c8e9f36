package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/dynolab/dyno/internal/load/texts"
	"github.com/dynolab/dyno/load/client"
)

// A caller is a client of the load: one call at a time.
type caller struct {
	*method
	load    *load
	link    *link
	content *content
	vars    *texts.Vars
	next    mem.BufferSlice // message of the next call; nil: it is not made yet
	bad     error           // why the message of the next call cannot be made
	md      metadata.MD     // of the next call
}

// Do implements [client.Client].
//
// What varies is made after the call before, and not at the beginning of Do, which is when the call is due.
func (c *caller) Do(ctx context.Context, r *client.Request) error {
	if err := c.bad; err != nil {
		c.bad = nil
		return err
	}
	if c.next == nil {
		if err := c.prepare(); err != nil {
			return err
		}
	}
	r.Step(c.name)
	message := c.next
	r.Sent = framed(message.Len())
	if len(c.md) > 0 {
		ctx = metadata.NewOutgoingContext(ctx, c.md)
	}
	call := c.unary
	if c.streams {
		call = c.stream
	}
	err := call(ctx, r, &message)
	c.next = nil
	if err != nil || !c.content.varying {
		return c.failed(ctx, err)
	}
	r.Async().Done(nil) // what follows is no time of this call
	c.bad = c.prepare()
	return nil
}

func (c *caller) unary(ctx context.Context, r *client.Request, message *mem.BufferSlice) error {
	var answer reply
	err := c.link.conn.Invoke(ctx, c.path, message, &answer, raw, grpc.StaticMethod())
	r.Received = int64(answer)
	return err
}

var serverStream = grpc.StreamDesc{ServerStreams: true}

func (c *caller) stream(ctx context.Context, r *client.Request, message *mem.BufferSlice) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // of a stream that is left before its end
	s, err := c.link.conn.NewStream(ctx, &serverStream, c.path, raw, grpc.StaticMethod())
	if err != nil {
		return err
	}
	if err := s.SendMsg(message); err != nil && err != io.EOF { // the reason of an EOF is what RecvMsg says
		return err
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	for {
		var answer reply
		if err := s.RecvMsg(&answer); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		if r.Messages == 0 {
			r.Mark("first message")
		}
		r.Messages++
		r.Received += int64(answer)
		if r.Messages == int64(c.load.Messages) {
			return nil
		}
	}
}

// Close implements [client.Client].
func (c *caller) Close() error { return c.load.links.drop(c.link) }

// failed gives an error the kind that dyno counts it by.
//
// The service knows the deadline, too. It may reset the stream before the timer of ctx has run here.
func (c *caller) failed(ctx context.Context, err error) error {
	end, limited := ctx.Deadline()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err() // the plan's limit, and no answer of the service
	case limited && !time.Now().Before(end):
		return context.DeadlineExceeded
	}
	return coded(err)
}

// coded names an error by its status code.
func coded(err error) error {
	s, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	text := s.Message()
	if text == "" {
		text = "the service sent no message"
	}
	return client.Kind(s.Code().String(), errors.New(text))
}

// framed is how many bytes a message takes of a stream.
func framed(message int) int64 { return int64(message) + 5 }

// A reply is how many bytes came. Answers are not decoded: that would be work of the generator.
type reply int64

// raw sends messages that are encoded, and counts the bytes of answers.
var raw = grpc.ForceCodecV2(rawCodec{})

var noMessage = mem.BufferSlice{}

type rawCodec struct{}

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(*mem.BufferSlice); ok {
		return *m, nil
	}
	return nil, status.Error(codes.Internal, fmt.Sprintf("a %T is no encoded message", v))
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*reply) = reply(framed(data.Len()))
	return nil
}

func (rawCodec) Name() string { return "proto" }
