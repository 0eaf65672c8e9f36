// Package grpc makes the program that puts a plan's load.grpc on a service.
//
// The program is built on grpc-go, which dyno does not depend on: dyno has the program's source, and the go
// command builds it when it is needed, from modules of its proxy. What the program has to send is in a file
// that it reads when it starts. It may be secret, and must not get into the go command's cache.
package grpc

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/load/rpc"
	"github.com/dynolab/dyno/internal/load/texts"
	"github.com/dynolab/dyno/internal/safe"
	public "github.com/dynolab/dyno/load"
)

// The go command builds nothing in a folder whose name begins with _, and would not embed files beside a go.mod.
//
//go:embed _program/*.go _program/go.mod.txt _program/go.sum.txt
var program embed.FS

// core is the module that the program has instead of this one: package client has no dependencies.
const core = "module github.com/dynolab/dyno\n\ngo 1.26.0\n"

// Source is the module of the program: names of files, with slashes, and their contents.
func Source() (files map[string][]byte, err error) {
	files = map[string][]byte{"dyno/go.mod": []byte(core)}
	if err := add(files, program, "_program", ""); err != nil {
		return nil, err
	}
	if err := add(files, load.Source, ".", "dyno/internal/load"); err != nil {
		return nil, err
	}
	return files, add(files, public.Source, ".", "dyno/load")
}

// add adds the files below root, which are to be below a folder. Tests are left out.
func add(files map[string][]byte, from fs.FS, root, folder string) error {
	return fs.WalkDir(from, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(from, name)
		below := strings.TrimPrefix(strings.TrimPrefix(name, root), "/")
		files[path.Join(folder, strings.TrimSuffix(below, ".txt"))] = text
		return err
	})
}

// Subject returns how to build the program whose Source is in a directory.
func Subject(dir string) dyno.Subject {
	return dyno.Subject{
		Package: dir, Dir: dir, NoInject: true,
		Build: []string{"-trimpath"}, // so that the go command finds again what it compiled for another run
		Env:   map[string]string{"GOFLAGS": "", "GOWORK": "off", "CGO_ENABLED": "0"},
	}
}

// Explain adds to an error of the build what helps, if modules could not be downloaded.
func Explain(err error) error {
	if err == nil || !slices.ContainsFunc([]string{"go.sum", "module lookup disabled", "dial tcp", "reading http", "Forbidden", "no such host", "i/o timeout", "cannot find module"},
		func(s string) bool { return strings.Contains(err.Error(), s) }) {
		return err
	}
	return fmt.Errorf("%w (dyno builds the program for load.grpc from modules of grpc-go, which the go command downloads once; consider: GOPROXY, a proxy that has google.golang.org/grpc; or load.program, an own load on a grpc-go that is here)", err)
}

// Check finds mistakes in the load's data and metadata, and files that are not there. A mistake is a
// [*dyno.PlanError].
func Check(l dyno.Load, arg map[string]string) error {
	_, err := config(&l, arg)
	return err
}

// Config returns what the program is told of a load. It includes metadata of the plan, which may be secret,
// so it is not a part of what the go command compiles and keeps.
func Config(l *dyno.Load, arg map[string]string) ([]byte, error) {
	c, err := config(l, arg)
	if err != nil {
		return nil, err
	}
	return json.Marshal(c)
}

// config returns what the program has to know of a load.
func config(l *dyno.Load, arg map[string]string) (*rpc.Config, error) {
	g := l.GRPC
	c := &rpc.Config{
		Method: g.Path(), Data: g.Data, Metadata: g.Metadata, Arg: arg, Authority: g.Authority,
		Insecure: l.Insecure, Connections: g.Connections, Messages: g.Messages,
	}
	names := texts.NewNames(arg, nil)
	for _, text := range g.Data {
		if _, err := texts.Parse("data", text, names); err != nil {
			return nil, mistake("data", err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(g.Metadata)) {
		if _, err := texts.Parse("metadata "+key, g.Metadata[key], names); err != nil {
			return nil, mistake("metadata", err)
		}
	}
	if g.DataFile != "" {
		text, err := safe.Data.ReadFile(g.DataFile)
		if err == nil {
			c.Lines, err = lines(text)
		}
		if err != nil {
			return nil, mistake("data_file", err)
		}
	}
	if g.Descriptors != "" {
		var err error
		if c.Descriptors, err = safe.Data.ReadFile(g.Descriptors); err != nil {
			return nil, mistake("descriptors", err)
		}
	}
	return c, nil
}

// lines are the messages of a file.
func lines(text []byte) (list []string, err error) {
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		n++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if !json.Valid([]byte(line)) {
			return nil, fmt.Errorf("line %d is not JSON (want a message on each line)", n)
		}
		list = append(list, line)
	}
	if len(list) == 0 {
		err = errors.New("it has no messages (want one on each line, in JSON)")
	}
	return list, err
}

func mistake(key string, err error) error {
	return &dyno.PlanError{Msg: fmt.Sprintf("load grpc %s: %v", key, err), Key: []string{"load", "grpc", key}}
}
