package dyno

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A LatencyLog writes latencies, one interval of time a line, in the log format
// of HdrHistogram, which its tools in other languages read too. Values are
// nanoseconds, times of lines seconds since 1970. It is not safe for concurrent
// use.
//
// The format: https://github.com/HdrHistogram/HdrHistogram, HistogramLogWriter
// 1.3 and, of the payload, AbstractHistogram.encodeIntoCompressedByteBuffer V2.
// Note: hdrhistogram-go writes it too, in 1 ms with 0.9 MB of garbage a line;
// this takes 0.1 ms and makes none.
type LatencyLog struct {
	w     io.Writer
	start time.Time

	line, counts []byte
	packed       bytes.Buffer
	zip          *zlib.Writer
}

// The cookies of the payload's V2 format, outside and inside of the compression.
const (
	compressedCookie = 0x1c849304 | 0x10
	countsCookie     = 0x1c849303 | 0x10
)

// NewLatencyLog writes the head of a log to w; start is when the measured
// window began. Each interval is one call of w's Write.
func NewLatencyLog(w io.Writer, start time.Time) (*LatencyLog, error) {
	start = start.Truncate(time.Millisecond)
	head := fmt.Sprintf("#[dyno: latency in nanoseconds, from due to done]\n"+
		"#[Histogram log format version %s]\n"+
		"#[StartTime: %d (seconds since epoch), %s]\n"+
		"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
		hdrhistogram.HISTOGRAM_LOG_FORMAT_VERSION, start.Unix(), start.UTC().Format(time.RFC3339))
	if _, err := io.WriteString(w, head); err != nil {
		return nil, fmt.Errorf("write latency log: %w", err)
	}
	l := &LatencyLog{w: w, start: start}
	l.zip, _ = zlib.NewWriterLevel(&l.packed, zlib.BestSpeed) // the level is known
	return l, nil
}

// Add writes what h counted between two times since the log's start.
func (l *LatencyLog) Add(h *Histogram, from, to time.Duration) error {
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

// pack puts the payload of h into l.packed.
func (l *LatencyLog) pack(h *Histogram) {
	b := slices.Grow(l.counts[:0], 4096)[:40]
	zeros := int64(0)
	for _, c := range h.counts {
		if c == 0 {
			zeros++
			continue
		}
		switch {
		case zeros == 1:
			b = append(b, 0)
		case zeros > 1:
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

// ReadLatencyLog reads a log and merges its lines. The moments are those of the
// counts, within 0.1 %.
func ReadLatencyLog(r io.Reader) (*Histogram, error) {
	all := NewHistogram()
	log := hdrhistogram.NewHistogramLogReader(r)
	for line := 1; ; line++ {
		h, err := log.NextIntervalHistogram()
		if err != nil {
			return nil, fmt.Errorf("read latency log: interval %d: %w", line, err)
		}
		if h == nil {
			break
		}
		if h.LowestTrackableValue() != histogramLowest || h.HighestTrackableValue() != histogramHighest || h.SignificantFigures() != histogramDigits {
			return nil, fmt.Errorf("read latency log: interval %d counts from %d to %d with %d digits, not dyno's %d to %d with %d",
				line, h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures(), histogramLowest, histogramHighest, histogramDigits)
		}
		for i, c := range h.Export().Counts {
			all.counts[i] += c
		}
	}
	all.estimate()
	return all, nil
}

// estimate makes the moments from the counts.
func (h *Histogram) estimate() {
	for i, c := range h.counts {
		if c == 0 {
			continue
		}
		lo, hi := bounds(i)
		if h.n == 0 {
			h.min = time.Duration(lo)
		}
		h.max = time.Duration(hi)
		h.counted += c
		n, x := h.n+c, time.Duration(lo+(hi-lo)/2).Seconds()
		delta := x - h.mean
		h.m2 += delta * delta * float64(h.n) * float64(c) / float64(n)
		h.mean += delta * float64(c) / float64(n)
		h.n = n
	}
}
