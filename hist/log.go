package hist

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Log writes latencies, one interval a line, in HdrHistogram's log format: values in
// nanoseconds, times in seconds since 1970. It is not safe for concurrent use. The format:
// https://github.com/HdrHistogram/HdrHistogram, HistogramLogWriter 1.3 and
// AbstractHistogram.encodeIntoCompressedByteBuffer V2. Note: hdrhistogram-go takes 1 ms
// and 0.9 MB of garbage a line, this 0.1 ms and none.
type Log struct {
	w     io.Writer
	start time.Time

	line, counts []byte
	packed       bytes.Buffer
	zip          *zlib.Writer
}

// Cookies of V2, outside and inside of the compression.
const (
	compressedCookie = 0x1c849304 | 0x10
	countsCookie     = 0x1c849303 | 0x10
)

// NewLog writes the head of a log; the window began at start. Each interval is one Write.
func NewLog(w io.Writer, start time.Time) (*Log, error) {
	start = start.Truncate(time.Millisecond)
	head := fmt.Sprintf("#[dyno: latency in nanoseconds, from due to done]\n"+
		"#[Histogram log format version %s]\n"+
		"#[StartTime: %d (seconds since epoch), %s]\n"+
		"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
		hdrhistogram.HISTOGRAM_LOG_FORMAT_VERSION, start.Unix(), start.UTC().Format(time.RFC3339))
	if _, err := io.WriteString(w, head); err != nil {
		return nil, fmt.Errorf("write latency log: %w", err)
	}
	l := &Log{w: w, start: start}
	l.zip, _ = zlib.NewWriterLevel(&l.packed, zlib.BestSpeed) // the level is known
	return l, nil
}

// Add writes what h counted between two times since the log's start.
func (l *Log) Add(h *Histogram, from, to time.Duration) error {
	at := time.Duration(l.start.UnixMilli())*time.Millisecond + from
	line := strconv.AppendFloat(l.line[:0], at.Seconds(), 'f', 6, 64)
	line = strconv.AppendFloat(append(line, ','), (to - from).Seconds(), 'f', 6, 64)
	line = strconv.AppendFloat(append(line, ','), float64(h.max)/1e6, 'f', 6, 64) // milliseconds, as the format wants
	line = append(line, ',')
	l.pack(h)
	line = base64.StdEncoding.AppendEncode(line, l.packed.Bytes())
	l.line = append(line, '\n')
	if _, err := l.w.Write(l.line); err != nil {
		return fmt.Errorf("write latency log: %w", err)
	}
	return nil
}

func (l *Log) pack(h *Histogram) {
	b := slices.Grow(l.counts[:0], 4096)[:40]
	zeros := int64(h.low)
	for i := h.low; i < h.top; i++ {
		c := h.counts[i]
		if c == 0 {
			zeros++
			continue
		}
		if zeros == 1 {
			b = append(b, 0)
		} else if zeros > 1 {
			b = binary.AppendVarint(b, -zeros)
		}
		zeros = 0
		b = binary.AppendVarint(b, c)
	}
	be := binary.BigEndian
	be.PutUint32(b[0:], countsCookie)
	be.PutUint32(b[4:], uint32(len(b)-40))
	be.PutUint32(b[8:], 0) // normalizing index offset
	be.PutUint32(b[12:], histogramDigits)
	be.PutUint64(b[16:], histogramLowest)
	be.PutUint64(b[24:], histogramHighest)
	be.PutUint64(b[32:], math.Float64bits(1)) // ratio of doubles to integers
	l.counts = b

	l.packed.Reset()
	l.packed.Write(be.AppendUint32(l.packed.AvailableBuffer(), compressedCookie))
	l.packed.Write([]byte{0, 0, 0, 0})
	l.zip.Reset(&l.packed)
	l.zip.Write(b) // to memory: no error
	l.zip.Close()
	be.PutUint32(l.packed.Bytes()[4:], uint32(l.packed.Len()-8))
}

// ReadLog merges the lines of a log; moments are within 0.1 %.
func ReadLog(r io.Reader) (*Histogram, error) {
	all := New()
	for l, err := range Lines(r, time.Time{}) {
		if err != nil {
			return nil, err
		}
		all.addCounts(l.Histogram)
	}
	all.estimate()
	return all, nil
}

// A Line is one interval of a log. Its histogram is valid until the next.
type Line struct {
	From, To time.Duration // since the window began
	*Histogram
}

// Lines yields the lines of a log whose window began at start, until an error. Note:
// hdrhistogram-go takes 20 times as long, a minute for a day of seconds.
func Lines(r io.Reader, start time.Time) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		u := unpacker{h: New()}
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLine)
		n := 0
		for lines.Scan() {
			line := lines.Bytes()
			if len(line) == 0 || line[0] == '#' || line[0] == '"' {
				continue
			}
			n++
			l, err := u.line(line, start)
			if err != nil {
				yield(l, fmt.Errorf("read latency log: interval %d: %w", n, err))
				return
			}
			if !yield(l, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Line{}, fmt.Errorf("read latency log: %w", err))
		}
	}
}

// maxLine is more than all counts take.
const maxLine = 1 << 20

// An unpacker reads line after line into one histogram.
type unpacker struct {
	h      *Histogram
	packed []byte
	counts bytes.Buffer
	zip    io.ReadCloser
}

var errLine = errors.New("not a line of dyno's log")

func (u *unpacker) line(line []byte, start time.Time) (l Line, err error) {
	fields := bytes.SplitN(line, []byte(","), 4)
	if len(fields) < 4 {
		return l, errLine
	}
	from, err1 := strconv.ParseFloat(string(fields[0]), 64)
	length, err2 := strconv.ParseFloat(string(fields[1]), 64)
	if err1 != nil || err2 != nil {
		return l, errLine
	}
	if u.packed, err = base64.StdEncoding.AppendDecode(u.packed[:0], bytes.TrimSpace(fields[3])); err != nil {
		return l, errLine
	}
	if err := u.unpack(); err != nil {
		return l, err
	}
	l.Histogram = u.h
	if !start.IsZero() {
		l.From = Seconds(from - float64(start.UnixMicro())/1e6)
	}
	l.To = l.From + Seconds(length)
	return l, nil
}

func (u *unpacker) unpack() (err error) {
	be := binary.BigEndian
	if len(u.packed) < 8 || be.Uint32(u.packed) != compressedCookie {
		return errLine
	}
	in := bytes.NewReader(u.packed[8:])
	if u.zip == nil {
		u.zip, err = zlib.NewReader(in)
	} else {
		err = u.zip.(zlib.Resetter).Reset(in, nil)
	}
	if err != nil {
		return err
	}
	u.counts.Reset()
	if _, err := io.Copy(&u.counts, io.LimitReader(u.zip, maxLine)); err != nil {
		return err
	}
	b := u.counts.Bytes()
	if len(b) < 40 || be.Uint32(b) != countsCookie {
		return errLine
	}
	if be.Uint32(b[12:]) != histogramDigits || be.Uint64(b[16:]) != histogramLowest || be.Uint64(b[24:]) != histogramHighest {
		return errLine
	}
	u.h.Reset()
	i := 0
	for b = b[40:]; len(b) > 0; {
		c, n := binary.Varint(b)
		if n <= 0 {
			return errLine
		}
		b = b[n:]
		switch {
		case c < 0 && -c <= int64(len(u.h.counts)-i):
			i -= int(c)
		case c >= 0 && c < 1<<40 && i < len(u.h.counts):
			u.h.counts[i] = c
			u.h.used(i, i+1)
			i++
		default:
			return errLine
		}
	}
	u.h.estimate()
	return nil
}

// estimate makes the moments from the counts.
func (h *Histogram) estimate() {
	for i := h.low; i < h.top; i++ {
		c := h.counts[i]
		if c == 0 {
			continue
		}
		lo, hi := bounds(i)
		if h.n == 0 {
			h.min = time.Duration(lo)
		}
		h.max = time.Duration(hi)
		n, x := h.n+c, time.Duration(lo+(hi-lo)/2).Seconds()
		delta := x - h.mean
		h.m2 += delta * delta * float64(h.n) * float64(c) / float64(n)
		h.mean += delta * float64(c) / float64(n)
		h.n = n
	}
}
