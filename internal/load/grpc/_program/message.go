package main

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/dynolab/dyno/internal/load/texts"
	"github.com/dynolab/dyno/load/client"
)

// content is what is sent. All clients share it.
type content struct {
	messages []message
	metadata []entry
	turn     texts.Count // of messages
	counter  texts.Count // of {{counter}}
	varying  bool        // something is a template
}

// A message is encoded already, or a template of JSON.
type message struct {
	encoded mem.BufferSlice
	text    texts.Text
}

// An entry is one of metadata.
type entry struct {
	key  string
	text texts.Text
}

// made is the content, once the first client has made it for all.
type made struct {
	sync.Once
	content *content
	err     error
}

func (k *made) once(l *load, m *method, t client.Target) (*content, error) {
	k.Do(func() { k.content, k.err = l.compile(m, t) })
	return k.content, k.err
}

// compile makes the content, and tries each text of it.
func (l *load) compile(m *method, target client.Target) (*content, error) {
	t := new(content)
	t.turn.Share(target.Index, target.Of)
	t.counter.Share(target.Index, target.Of)
	names := texts.NewNames(l.Arg, nil)
	given := l.Data
	if len(l.Lines) > 0 {
		given = make([]string, len(l.Lines))
		for i, line := range l.Lines {
			given[i] = texts.Literal(line)
		}
	}
	if len(given) == 0 {
		given = []string{"{}"}
	}
	tried := texts.NewVars(target.Client, target.Seed, nil, new(texts.Count))
	for i, text := range given {
		x, err := texts.Parse("data", text, names)
		if err != nil {
			return nil, err
		}
		encoded, err := m.encode(x, tried)
		if err != nil {
			if len(given) > 1 {
				err = fmt.Errorf("message %d: %w", i+1, err)
			}
			return nil, err
		}
		made := message{text: x}
		if _, fixed := x.Fixed(); fixed {
			made.encoded = encoded
		} else {
			t.varying = true
		}
		t.messages = append(t.messages, made)
	}
	for _, key := range slices.Sorted(maps.Keys(l.Metadata)) {
		x, err := texts.Parse("metadata "+key, l.Metadata[key], names)
		if err != nil {
			return nil, err
		}
		if _, fixed := x.Fixed(); !fixed {
			t.varying = true
		}
		t.metadata = append(t.metadata, entry{strings.ToLower(key), x})
	}
	_, err := t.md(tried)
	return t, err
}

// encode makes a message of a text.
func (m *method) encode(x texts.Text, v *texts.Vars) (mem.BufferSlice, error) {
	text, err := x.Append(nil, v)
	if err != nil {
		return nil, err
	}
	d := dynamicpb.NewMessage(m.input)
	if err := (protojson.UnmarshalOptions{Resolver: m.types}).Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("data %s is no %s: %s (its fields: %s)", texts.Shorten(string(text)), m.input.FullName(), plain(err), m.fields())
	}
	encoded, err := proto.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	return mem.BufferSlice{mem.SliceBuffer(encoded)}, nil
}

// plain is an error of protobuf without its mark, which has one of two spaces at random.
func plain(err error) string {
	return strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: ")
}

// fields are the message's, for an error.
func (m *method) fields() string {
	var names []string
	for i := range m.input.Fields().Len() {
		f := m.input.Fields().Get(i)
		kind := f.Kind().String()
		switch {
		case f.Message() != nil:
			kind = string(f.Message().FullName())
		case f.Enum() != nil:
			kind = string(f.Enum().FullName())
		}
		if f.IsMap() {
			kind = "map"
		} else if f.IsList() {
			kind = "list of " + kind
		}
		names = append(names, string(f.Name())+" "+kind)
	}
	return listed(names)
}

// md is the metadata of a call.
func (t *content) md(v *texts.Vars) (metadata.MD, error) {
	if len(t.metadata) == 0 {
		return nil, nil
	}
	md := make(metadata.MD, len(t.metadata))
	for _, e := range t.metadata {
		value, err := e.text.Append(nil, v)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(e.key, "-bin") {
			if value, err = base64.StdEncoding.AppendDecode(nil, value); err != nil {
				return nil, fmt.Errorf("metadata %s: its value is not in base64", e.key)
			}
		}
		md[e.key] = []string{string(value)}
	}
	return md, nil
}

// newCaller makes a client of a connection.
func (l *load) newCaller(m *method, k *link, t client.Target) (*caller, error) {
	x, err := l.made.once(l, m, t)
	if err != nil {
		return nil, err
	}
	c := &caller{method: m, load: l, link: k, content: x, vars: texts.NewVars(t.Client, t.Seed, nil, &x.counter)}
	return c, c.prepare()
}

// prepare makes the message and the metadata of the next call.
func (c *caller) prepare() (err error) {
	defer func() {
		c.vars.NextLoop()
		if err != nil {
			c.next, err = nil, client.Kind("data", err)
		}
	}()
	m := &c.content.messages[c.content.turn.Next()%int64(len(c.content.messages))]
	c.next = m.encoded
	if c.next == nil {
		if c.next, err = c.encode(m.text, c.vars); err != nil {
			return err
		}
	}
	if c.md == nil || c.content.varying {
		c.md, err = c.content.md(c.vars)
	}
	return err
}
