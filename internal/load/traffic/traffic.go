// Package traffic reads recordings of requests: access logs, HAR files, and GoReplay's. It owns which
// of the requests can be sent again and when each came; package scenario makes requests of them.
package traffic

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"sync"
	"time"
	"unique"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/safe"
	"github.com/dynolab/dyno/internal/unwrap"
)

// A Request is what was asked of a service, without what the connection decides.
type Request struct {
	Method  string
	Target  string   // path and query, with a leading slash
	Headers []Header // by name; those of one name in the order of the recording
	Body    string
}

// A Header is a line of a header. Its name is in the canonical form.
type Header struct{ Name, Value string }

// A Recording is requests in the order of their times. Equal requests take memory once.
type Recording struct {
	Facts    dyno.Recording
	times    []time.Duration
	which    []uint32 // in distinct
	statuses []uint16
	distinct []stored
	sets     [][]Header
	bodies   []string
}

// stored is a Request: of each million, some 40 MB and their targets.
type stored struct {
	target        string
	headers, body uint32
	method        unique.Handle[string]
}

// Len is the number of requests.
func (r *Recording) Len() int { return len(r.times) }

// Times returns when the requests came, since the first. The times never decrease.
func (r *Recording) Times() []time.Duration { return r.times }

// Request is request i, whose headers the caller may not change.
func (r *Recording) Request(i int) Request {
	s := &r.distinct[r.which[i]]
	return Request{s.method.Value(), s.target, r.sets[s.headers], r.bodies[s.body]}
}

// Status returns the status that request i was answered with, 0 if it is not known.
func (r *Recording) Status(i int) int { return int(r.statuses[i]) }

// peak is the rate of the densest tenth of a second, in requests per second.
func (r *Recording) peak() int {
	most, from := 0, 0
	for i, at := range r.times {
		for r.times[from] <= at-time.Second/10 {
			from++
		}
		most = max(most, i-from+1)
	}
	return most * 10
}

// last is the recording that was read last: all trials of a run send the same one, and to read it takes
// some seconds for each million of requests.
var last struct {
	sync.Mutex
	key
	*Recording
}

type key struct {
	file, format string
	bytes        int
	secrets      bool
}

// Read reads the recording of a load, as far as the load knows it: a log may have grown since.
// A mistake is a [*dyno.PlanError].
func Read(l *dyno.Load) (*Recording, error) {
	k := key{file: l.Replay, format: l.LogFormat, secrets: l.ReplaySecrets}
	if l.Recording != nil {
		k.bytes, k.secrets = l.Recording.Bytes, k.secrets || l.Recording.Filtered
	}
	last.Lock()
	defer last.Unlock()
	if last.Recording != nil && last.key == k && k.bytes > 0 {
		return last.Recording, nil
	}
	last.Recording = nil // or both would be in memory
	r, err := read(k)
	if err != nil {
		return nil, &dyno.PlanError{Msg: fmt.Sprintf("replay %s: %v", l.Replay, err), Key: []string{"load", "replay"}}
	}
	if l.Recording != nil && r.Facts.Requests != l.Recording.Requests {
		return nil, &dyno.PlanError{
			Msg: fmt.Sprintf("replay %s: it has other requests than when the run began (consider: a copy of a log that is written or rotated)", l.Replay),
			Key: []string{"load", "replay"},
		}
	}
	k.bytes = r.Facts.Bytes
	last.key, last.Recording = k, r
	return r, nil
}

// Note notes in a load what its recording has: how long it is decides what a plan means.
func Note(l *dyno.Load) error {
	if l.Replay == "" || l.Recording != nil {
		return nil
	}
	r, err := Read(l)
	if err == nil {
		l.Recording = &r.Facts
	}
	return err
}

func read(k key) (*Recording, error) {
	f, err := os.OpenFile(k.file, safe.Quickly, 0)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := int(info.Size())
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("it is not a file: %v (want a file, which each trial can read)", info.Mode())
	case size < k.bytes:
		return nil, errors.New("it is shorter than when the run began (consider: a copy of a log that is written or rotated)")
	case k.bytes > 0:
		size = k.bytes
	}
	b := newBuilder(k.secrets)
	if b.format, err = parseFormat(k.format); err != nil {
		return nil, err
	}
	if err := b.read(io.LimitReader(f, int64(size))); err != nil {
		return nil, err
	}
	r, err := b.finish()
	if err == nil {
		r.Facts.Bytes = size
	}
	return r, err
}

var (
	looksHAR   = regexp.MustCompile(`^\s*\{\s*"log"\s*:\s*\{`)
	looksArray = regexp.MustCompile(`^\s*\[\s*\{`)
	looksGor   = regexp.MustCompile(`^[1-3] \S+ [0-9]+[^\n]*\r?\n`)
)

const peeked = 4 << 10 // bytes that tell the format

// read reads a recording of any format, which its beginning tells.
func (b *builder) read(r io.Reader) error {
	in, err := unwrap.Text(r)
	if err != nil {
		return err
	}
	begin, err := in.Peek(peeked)
	if err != nil && err != io.EOF {
		return err
	}
	switch {
	case b.format != nil:
		return b.lines(in, b.logLine)
	case looksHAR.Match(begin):
		return b.har(in)
	case looksGor.Match(begin):
		return b.gor(in)
	case looksArray.Match(begin):
		return b.array(in)
	}
	return b.lines(in, b.logLine)
}

// array reads JSON arrays with an object for each request, as gcloud writes them. A file that was cut off has a line less.
func (b *builder) array(in io.Reader) error {
	d := json.NewDecoder(in)
	for {
		t, err := d.Token()
		switch {
		case err == io.EOF:
			return nil
		case err == nil && t == json.Delim('['):
			err = b.items(d)
		case err != nil || t != json.Delim(']'):
			b.leave(unreadable)
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// items reads the objects of an array, after its bracket.
func (b *builder) items(d *json.Decoder) error {
	for d.More() {
		var line json.RawMessage
		if err := d.Decode(&line); err != nil && b.line == 0 {
			return fmt.Errorf("it is no JSON array: %w", err)
		} else if err != nil {
			return nil // the next token says it
		}
		b.line++
		if len(line) == 0 || line[0] != '{' {
			b.leave(unreadable)
			continue
		}
		if err := b.logLine(line); err != nil {
			return err
		}
	}
	return nil
}

const mostLine = 1 << 20 // bytes

// lines reads a log line by line; a line that is too long cannot be read.
func (b *builder) lines(in *bufio.Reader, line func(text []byte) error) error {
	var long []byte
	for {
		text, err := in.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			if len(long) <= mostLine {
				long = append(long, text...)
			}
			continue
		}
		if err != nil && err != io.EOF {
			return err
		}
		if long != nil {
			text, long = append(long, text...), nil
		}
		b.line++
		text = bytes.TrimSpace(text)
		switch {
		case len(text) > mostLine:
			b.leave(unreadable)
		case len(text) > 0:
			if e := line(text); e != nil {
				return e
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}
