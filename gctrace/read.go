package gctrace

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
)

// A Text counts what a text had besides collections.
type Text struct {
	Bytes     int64   `json:"bytes"`
	Lines     int64   `json:"lines"`
	Torn      int64   `json:"torn"`        // gc lines that log text had cut into and that were put together again
	Lost      int64   `json:"lost"`        // gc lines that could not be read surely; they are no collections
	Pacer     int64   `json:"pacer"`       // lines of gcpacertrace=1
	Scavenger int64   `json:"scavenger"`   // lines of the scavenger, which up to Go 1.15 came with gctrace=1 and since with scavtrace=1
	Scavenged float64 `json:"scavenged-B"` // bytes that those say were returned to the system
}

const (
	readSize = 256 << 10 // bytes read at once
	lineMost = 1 << 10   // bytes of a longer line in whose end a gc line may still be found
)

// Parse reads the collections from standard error, or from a Splitter's trace, and skips all
// other text. The error is r's.
func Parse(r io.Reader) ([]Cycle, error) {
	var cycles []Cycle
	_, err := Read(r, func(c *Cycle, _ []byte) { cycles = append(cycles, *c) })
	return cycles, err
}

// Read calls each with the collections of a log file of any size, in order, and with the text
// of their lines, valid until each returns. Log text may come before a gc line or between any
// two of its pieces. It reads Go 1.5 and later. The error is r's.
func Read(r io.Reader, each func(c *Cycle, line []byte)) (Text, error) {
	return read(r, each, make([]byte, readSize))
}

// read needs a buffer of more than lineMost bytes.
func read(r io.Reader, each func(c *Cycle, line []byte), buf []byte) (Text, error) {
	f := &fileReader{each: each}
	f.lines = assembler{grammar: anyAge, log: f.other, done: f.assembled}
	have := 0
	for {
		n, err := r.Read(buf[have:])
		f.Bytes += int64(n)
		f.Lines += int64(bytes.Count(buf[have:have+n], []byte("\n")))
		have += n
		whole := bytes.LastIndexByte(buf[:have], '\n') + 1
		if whole == 0 && have == len(buf) {
			whole = have - lineMost
		}
		f.text(buf[:whole])
		have = copy(buf, buf[whole:have])
		if err == nil {
			continue
		}
		if have > 0 {
			f.Lines++
			buf[have] = '\n' // there is room: have is less than the size
			f.text(buf[:have+1])
		}
		f.lines.abandon()
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return f.Text, err
	}
}

type fileReader struct {
	Text
	each  func(*Cycle, []byte)
	pace  pace
	lines assembler
}

// text takes lines. Only what is between whole gc lines needs to be assembled.
func (f *fileReader) text(p []byte) {
	if bytes.IndexByte(p, '\r') >= 0 { // as other systems' tools write it
		p = bytes.ReplaceAll(p, []byte("\r\n"), []byte("\n"))
	}
	from := 0
	for at := 0; at < len(p); {
		end := len(p)
		if i := bytes.IndexByte(p[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := p[at:end]
		if bytes.HasPrefix(line, gcMark) && ends(line) {
			f.lines.write(p[from:at]) // the pacer's line is there
			from = at
			if c, ok := f.pace.read(line); ok {
				f.lines.abandon()
				f.each(&c, line)
				from = end
			}
		}
		at = end
	}
	f.lines.write(p[from:])
}

var gcMark = []byte("gc ")

func (f *fileReader) assembled(line []byte, repaired bool) {
	if !bytes.HasPrefix(line, gcMark) {
		f.other(line)
		return
	}
	c, ok := f.pace.read(line)
	if !ok {
		f.Lost++
		return
	}
	if repaired {
		f.Torn++
	}
	f.each(&c, line)
}

func (f *fileReader) other(p []byte) {
	for line := range bytes.Lines(p) {
		switch {
		case bytes.HasPrefix(line, []byte("pacer: ")):
			f.Pacer++
			f.pace.parse(line)
			continue
		case bytes.HasPrefix(line, []byte("sc")):
			if released, ok := scavenged(line); ok {
				f.Scavenger++
				f.Scavenged += released
				continue
			}
		}
		f.inside(line)
	}
}

// inside looks for a gc line behind other text, such as a time stamp.
func (f *fileReader) inside(line []byte) {
	for {
		i := bytes.Index(line, gcMark)
		if i < 0 {
			return
		}
		line = line[i:]
		if c, ok := f.pace.read(line); ok {
			f.each(&c, line)
			return
		}
		if anyAge.follow(0, line, nil).pieces >= sure {
			f.Lost++
			return
		}
		line = line[len(gcMark):]
	}
}

// scavengers are the forms of a scavenger's line, by the bytes of its unit: from runtime/mheap.go
// (mHeap_Scavenge) of Go 1.5 to 1.12, and from runtime/mgcscavenge.go (bgscavenge, printScavTrace)
// since, whose first number was its generation in Go 1.14 to 1.18.
var scavengers = map[float64]*regexp.Regexp{
	1 << 20: regexp.MustCompile(`^scvg-?\d*: (?:inuse: |(\d+) MB released\n)`),
	1 << 10: regexp.MustCompile(`^scav (?:\d+ )?(\d+) KiB work(?: \(bg\), (\d+) KiB work \(eager\))?, `),
}

// scavenged returns the bytes that a scavenger's line says were returned to the system.
func scavenged(line []byte) (released float64, ok bool) {
	for unit, form := range scavengers {
		for i, number := range form.FindSubmatch(line) {
			ok = true
			if x, err := strconv.ParseFloat(string(number), 64); i > 0 && err == nil {
				released += x * unit
			}
		}
	}
	return released, ok
}
