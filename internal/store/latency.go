package store

import (
	"bufio"
	"bytes"
	"io"
	"iter"
	"os"
	"strconv"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
)

// Latency yields the lines of the latency log of a trial that may hold requests which
// were done from one time to another since its window began. The error, the last of
// the sequence, is fs.ErrNotExist if there is no log.
func (d *Dir) Latency(r *dyno.Result, from, to time.Duration) iter.Seq2[hist.Line, error] {
	return func(yield func(hist.Line, error) bool) {
		err := d.withFile(r.Trial.N, latencyFile, func(f *os.File) error {
			start := float64(r.Start.UnixMicro()) / 1e6
			lines := &linesBetween{in: bufio.NewReaderSize(f, readBuffer), from: start + from.Seconds(), to: start + to.Seconds()}
			for l, err := range hist.Lines(lines, r.Start) {
				if err != nil {
					return err
				}
				if !yield(l, nil) {
					return nil
				}
			}
			return nil
		})
		if err != nil {
			yield(hist.Line{}, err)
		}
	}
}

// linesBetween drops the lines of a latency log that end before a time or begin after
// another, in seconds since 1970: decoding them would take a thousand times as long.
type linesBetween struct {
	in       *bufio.Reader
	from, to float64
	part     []byte // the unread rest of a line
	whole    bool   // part ends the line
	skip     bool   // the line
}

func (l *linesBetween) Read(p []byte) (int, error) {
	for len(l.part) == 0 {
		begins := l.whole || l.part == nil
		part, err := l.in.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull && (err != io.EOF || len(part) == 0) {
			return 0, err
		}
		l.part, l.whole = part, err == nil
		if begins {
			l.skip = l.outside(part)
		}
		if l.skip {
			l.part = l.part[:0]
		}
	}
	n := copy(p, l.part)
	l.part = l.part[n:]
	return n, nil
}

// outside reports false for a line that is not an interval.
func (l *linesBetween) outside(line []byte) bool {
	begin, rest, _ := bytes.Cut(line, []byte(","))
	length, _, _ := bytes.Cut(rest, []byte(","))
	from, err1 := strconv.ParseFloat(string(begin), 64)
	long, err2 := strconv.ParseFloat(string(length), 64)
	return err1 == nil && err2 == nil && (from > l.to || from+long < l.from)
}
