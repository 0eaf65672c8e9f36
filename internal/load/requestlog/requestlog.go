// Package requestlog keeps single requests in a scratch file while a load runs, all
// or a uniform sample, and reads them back in the order of their ends. Its caller
// owns the file.
package requestlog

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dynolab/dyno"
)

// A Log keeps single requests. Clients add to buffers, whose full blocks go to one
// writer; a client waits for the disk only when all spare blocks are full. Memory is
// bounded by the number of buffers and by max.
//
// Of more than max requests it keeps a uniform sample: each draws a level, at least n
// with a chance of 1/2^n, and the least level kept rises whenever more than max would
// be kept. Reading skips what was written with a lower level. The file holds at most
// max·(1 + log2(seen/max)/2) requests and a block for each level.
type Log struct {
	f      File
	max    int64
	naming sync.Mutex
	steps  []string
	full   chan *block
	spare  chan *block
	level  atomic.Uint32 // least that is kept

	writer  sync.WaitGroup
	buffers []*Buffer

	// Only the writer uses these until it ends:
	end    int64         // of the file
	counts [levels]int64 // written requests by level
	err    error         // the first; nothing is kept from then on
}

// File has the methods of an *os.File that a Log needs.
type File interface {
	io.ReaderAt
	io.WriterAt
}

// A span is where a block is in the file, in bytes.
type span struct{ from, to int64 }

type block struct {
	owner *Buffer
	n     int // bytes
	data  [blockSize]byte
}

const (
	recordSize = 32 // bytes of a request
	blockSize  = 64 << 10
	levelByte  = 7 // where its level is
	readSize   = 16 << 10
	maxSpares  = 32 // 2 MiB: a stall of a third of a second at 200,000 requests a second
	levels     = 65
	noLevel    = levels // more than any request's level
)

// New keeps at most max requests in f, beyond that a uniform sample. Steps are the
// labels of the steps that are added, at most 32767. The caller must Close it.
func New(f File, max int64, steps []string) *Log {
	k := &Log{f: f, max: max, steps: steps, full: make(chan *block, maxSpares), spare: make(chan *block, maxSpares)}
	for range maxSpares {
		k.spare <- new(block)
	}
	k.writer.Go(k.write)
	return k
}

// Step is the number of a step's label, of those of New or one more. Several goroutines may call it.
func (k *Log) Step(label string) int {
	k.naming.Lock()
	defer k.naming.Unlock()
	i := slices.Index(k.steps, label)
	if i < 0 {
		i = len(k.steps)
		k.steps = append(k.steps, label)
	}
	return i
}

// A Buffer takes one shard's requests. It is not safe for concurrent use.
type Buffer struct {
	k     *Log
	block *block
	seen  int64
	rng   uint64
	spans []span   // where its blocks are; the writer's until it ends
	_     [64]byte // no other buffer in its cache line
}

// Buffer makes a buffer, whose requests are read back in the order in which they
// were added. It is not safe for concurrent use.
func (k *Log) Buffer() *Buffer {
	b := &Buffer{k: k, block: new(block), rng: rand.Uint64()}
	b.block.owner = b
	k.buffers = append(k.buffers, b)
	return b
}

// Add keeps a request. Times count from the window's begin. Values are cut to 0 to 2
// years for due, 78 hours from due to sent and from sent to done, 4 GiB of bytes.
func (b *Buffer) Add(client, step int, due, sent, done time.Duration, status int, bytes int64, failed bool) {
	b.seen++
	// SplitMix64 (Steele, Lea, Flood 2014, Fast Splittable Pseudorandom Number Generators).
	b.rng += 0x9e3779b97f4a7c15
	z := b.rng
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	level := uint(bits.LeadingZeros64(z ^ z>>31))
	if level < uint(b.k.level.Load()) {
		return
	}
	mark := uint64(0)
	if failed {
		mark = 1 << 15
	}
	p := (*[recordSize]byte)(b.block.data[b.block.n:])
	le := binary.LittleEndian
	le.PutUint64(p[0:], uint64(level)<<56|fit(int64(due), 56))
	le.PutUint64(p[8:], fit(int64(status), 16)<<48|fit(int64(sent-due), 48))
	le.PutUint64(p[16:], (mark|fit(int64(step), 15))<<48|fit(int64(done-sent), 48))
	le.PutUint64(p[24:], fit(int64(client), 32)<<32|fit(bytes, 32))
	if b.block.n += recordSize; b.block.n == blockSize {
		b.next()
	}
}

func fit(v int64, bits int) uint64 { return uint64(min(max(v, 0), 1<<bits-1)) }

func (b *Buffer) next() {
	b.k.full <- b.block
	b.block = <-b.k.spare
	b.block.owner, b.block.n = b, 0
}

func (k *Log) write() {
	for b := range k.full {
		if k.err == nil {
			if k.err = k.put(b); k.err != nil {
				k.level.Store(noLevel)
			}
		}
		select {
		case k.spare <- b:
		default: // the last blocks of the buffers, which are not used again
		}
	}
}

// put writes those of a block's requests that are still to be kept, and raises the
// level if there are too many.
func (k *Log) put(b *block) error {
	level := k.level.Load()
	n := 0
	for i := 0; i < b.n; i += recordSize {
		l := b.data[i+levelByte]
		if uint32(l) < level {
			continue // added before the level rose
		}
		k.counts[l]++
		if n < i {
			copy(b.data[n:n+recordSize], b.data[i:])
		}
		n += recordSize
	}
	if _, err := k.f.WriteAt(b.data[:n], k.end); err != nil {
		return fmt.Errorf("keep requests: %w (consider: --keep-requests none, or a lower --max-requests-kept)", err)
	}
	if n > 0 {
		b.owner.spans = append(b.owner.spans, span{k.end, k.end + int64(n)})
		k.end += int64(n)
	}
	for kept := k.above(level); kept > k.max && level < levels; level++ {
		kept -= k.counts[level]
	}
	k.level.Store(level)
	return nil
}

func (k *Log) above(level uint32) (n int64) {
	for _, c := range k.counts[level:] {
		n += c
	}
	return n
}

// Close ends the writer; no Buffer may be used any more. Its error is the first of
// the whole run, after which nothing is kept or given out.
func (k *Log) Close() error {
	for _, b := range k.buffers {
		if b.block.n > 0 {
			k.full <- b.block
		}
		b.block = nil
	}
	close(k.full)
	k.writer.Wait()
	k.full, k.spare = nil, nil
	return k.err
}

// Kept returns how many requests can be read and how many were added, after Close.
func (k *Log) Kept() (n, seen int64) {
	for _, b := range k.buffers {
		seen += b.seen
	}
	return k.above(k.level.Load()), seen
}

// Requests reads the closed log from its start, ordered by when requests were done
// as far as each buffer was. An error ends the sequence.
func (k *Log) Requests() iter.Seq2[dyno.Request, error] {
	return func(yield func(dyno.Request, error) bool) {
		if k.err != nil {
			yield(dyno.Request{}, k.err)
			return
		}
		var err error
		var open []*cursor // each with its next request; few, one for each core
		for _, b := range k.buffers {
			c := &cursor{k: k, level: byte(k.level.Load()), spans: b.spans, buf: make([]byte, readSize)}
			if c.next(&err) {
				open = append(open, c)
			}
		}
		for err == nil && len(open) > 0 {
			first := 0
			for i, c := range open {
				if c.request.Done < open[first].request.Done {
					first = i
				}
			}
			if !yield(open[first].request, nil) {
				return
			}
			if !open[first].next(&err) {
				open = slices.Delete(open, first, first+1)
			}
		}
		if err != nil {
			yield(dyno.Request{}, err)
		}
	}
}

// A cursor reads one buffer's requests.
type cursor struct {
	k       *Log
	level   byte
	spans   []span
	buf     []byte
	at      int64  // how much of spans[0] was read into buf
	rest    []byte // what was not decoded of it
	request dyno.Request
}

// next decodes the next request that is kept. It returns false at the end, or with err.
func (c *cursor) next(err *error) bool {
	for {
		if len(c.rest) == 0 {
			if len(c.spans) == 0 {
				return false
			}
			if failed := c.fill(); failed != nil {
				*err = failed
				return false
			}
		}
		p := (*[recordSize]byte)(c.rest)
		c.rest = c.rest[recordSize:]
		if p[levelByte] >= c.level {
			c.decode(p)
			return true
		}
	}
}

func (c *cursor) fill() error {
	r := c.spans[0]
	c.rest = c.buf[:min(int64(len(c.buf)), r.to-r.from-c.at)]
	if n, err := c.k.f.ReadAt(c.rest, r.from+c.at); n < len(c.rest) {
		return fmt.Errorf("read kept requests: %w", err)
	}
	if c.at += int64(len(c.rest)); c.at == r.to-r.from {
		c.spans, c.at = c.spans[1:], 0
	}
	return nil
}

func (c *cursor) decode(p *[recordSize]byte) {
	le := binary.LittleEndian
	due, sent, done, rest := le.Uint64(p[0:]), le.Uint64(p[8:]), le.Uint64(p[16:]), le.Uint64(p[24:])
	r := &c.request
	r.Due = time.Duration(due & (1<<56 - 1))
	r.Sent = r.Due + time.Duration(sent&(1<<48-1))
	r.Done = r.Sent + time.Duration(done&(1<<48-1))
	r.Status = int(sent >> 48)
	r.Failed = done>>63 != 0
	r.Step = ""
	if step := int(done >> 48 & (1<<15 - 1)); step < len(c.k.steps) {
		r.Step = c.k.steps[step]
	}
	r.Client = int(rest >> 32)
	r.Bytes = int64(rest & (1<<32 - 1))
}
