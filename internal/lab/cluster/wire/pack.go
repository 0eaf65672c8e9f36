package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/traffic"
	"github.com/dynolab/dyno/internal/plan"
)

// mostFile bounds a file of a load that is sent to agents.
const mostFile = 64 << 20

// Pack puts a load, and the files that it names, into a job.
func (j *LoadJob) Pack(l dyno.Load) error {
	if l.Targets != "" {
		text, err := os.ReadFile(l.Targets)
		if err != nil {
			return fmt.Errorf("send the targets of the load to agents: %w", err)
		}
		if bytes.Contains(text, []byte("\n@")) {
			return fmt.Errorf("targets %s name files of bodies, which are not sent to agents (consider: body_file in the steps of a client, or JSON targets)", l.Targets)
		}
	}
	l.KeepRequests, l.MaxRequestsKept = "", 0 // Keep says it
	names, moved := data(&l)
	if l.Replay != "" { // which has no other files
		text, err := recording(&l)
		if err != nil {
			return fmt.Errorf("send the recording of the load to agents: %w", err)
		}
		j.Files, l.Replay, l.LogFormat = append(j.Files, text), "0", ""
	}
	files := []string{}
	for _, path := range append(paths(&l), moved...) {
		i := slices.Index(files, *path)
		if i < 0 {
			i = len(files)
			files = append(files, *path)
		}
		*path = strconv.Itoa(i)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err == nil && info.Size() > mostFile {
			err = fmt.Errorf("%s has %d bytes (want at most %d)", file, info.Size(), mostFile)
		}
		var data []byte
		if err == nil {
			data, err = os.ReadFile(file)
		}
		if err != nil {
			return fmt.Errorf("send a file of the load to agents: %w", err)
		}
		j.Files = append(j.Files, data)
	}
	for i, name := range names {
		l.Data[name] = *moved[i]
	}
	text, err := json.Marshal(&dyno.Experiment{Name: "load", Subject: dyno.Subject{URL: "http://127.0.0.1"}, Load: l})
	j.Plan, j.Seed = text, l.Seed
	return err
}

// recording returns the recording as it is sent to agents. All agents get the requests and times that this
// machine has read, even if the file changes. Secrets are left out unless the plan asks for them.
func recording(l *dyno.Load) ([]byte, error) {
	r, err := traffic.Read(l)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	z := gzip.NewWriter(&text)
	if err := errors.Join(r.WriteGor(z), z.Close()); err != nil {
		return nil, err
	}
	if text.Len() > mostFile {
		return nil, fmt.Errorf("%s takes %d bytes (want at most %d; consider: a part of it)", l.Replay, text.Len(), mostFile)
	}
	facts := r.Facts
	facts.Bytes, facts.Secrets, facts.Left = text.Len(), 0, nil
	facts.Filtered = !l.ReplaySecrets
	l.Recording = &facts
	return text.Bytes(), nil
}

// Unpack is the load with its files in dir.
func (j *LoadJob) Unpack(dir string) (dyno.Load, error) {
	for i, data := range j.Files {
		if err := writeProgram(filepath.Join(dir, strconv.Itoa(i)), data); err != nil { // it may be the program
			return dyno.Load{}, err
		}
	}
	e, err := plan.Parse(filepath.Join(dir, "plan"), j.Plan) // whose paths are relative to dir
	if err != nil {
		return dyno.Load{}, err
	}
	e.Load.Seed = j.Seed
	return e.Load, nil
}

// writeProgram writes a file that can be run at once. No process may be started while the file is open: the new process
// would hold it open for writing for a moment, and the kernel refuses to run such a file (ETXTBSY, golang.org/issue/22315).
func writeProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, 0o700)
}

// paths are the fields of a load that name files. Its lists are copied before.
func paths(l *dyno.Load) (all []*string) {
	for _, path := range []*string{&l.Targets, &l.Program} {
		if *path != "" {
			all = append(all, path)
		}
	}
	var steps func(list []dyno.Step) []dyno.Step
	steps = func(list []dyno.Step) []dyno.Step {
		list = slices.Clone(list)
		for i := range list {
			if list[i].BodyFile != "" {
				all = append(all, &list[i].BodyFile)
			}
			list[i].Parallel.Steps = steps(list[i].Parallel.Steps)
		}
		return list
	}
	c := &l.Client
	c.Setup, c.Loop, c.Teardown = steps(c.Setup), steps(c.Loop), steps(c.Teardown)
	return all
}

// data is a copy of l.Data, whose values have no address, in two lists.
func data(l *dyno.Load) (names []string, files []*string) {
	l.Data = maps.Clone(l.Data)
	for _, name := range slices.Sorted(maps.Keys(l.Data)) {
		file := l.Data[name]
		names, files = append(names, name), append(files, &file)
	}
	return names, files
}
