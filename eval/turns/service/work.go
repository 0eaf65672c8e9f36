package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

type spin struct{ n int }

func (s spin) ServeHTTP(w http.ResponseWriter, r *http.Request) { answer(w, hashes(s.n)) }

// hashes returns the end of a chain of n hashes.
func hashes(n int) (sum [sha256.Size]byte) {
	for range n {
		sum = sha256.Sum256(sum[:])
	}
	return sum
}

func answer(w http.ResponseWriter, sum [sha256.Size]byte) { fmt.Fprintf(w, "%x\n", sum[:8]) }

// tail has a p99 that is the time of a long request: these are 3 of 100, so that p97 to p100
// are theirs.
type tail struct {
	short, long int
	requests    atomic.Uint64
}

func (t *tail) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := t.short
	if isLong(t.requests.Add(1)) {
		n = t.long
	}
	answer(w, hashes(n))
}

// isLong says it of request i. Long requests come without a period, with which turns could keep
// step, and are the same in every launch. The mixer is that of splitmix64 (Steele, Lea and Flood,
// OOPSLA 2014).
func isLong(i uint64) bool {
	i *= 0x9e3779b97f4a7c15
	i = (i ^ i>>30) * 0xbf58476d1ce4e5b9
	i = (i ^ i>>27) * 0x94d049bb133111eb
	return (i^i>>31)%100 < 3
}

// A journal keeps the last documents.
type journal struct {
	text []byte // a document as JSON

	mu   sync.Mutex
	kept []any
	next int
}

func newJournal(live int) *journal {
	tags := map[string]any{}
	for i := range 5 {
		tags[fmt.Sprint("tag-", i)] = fmt.Sprint("value of tag ", i)
	}
	var lines []any
	for i := range 12 {
		lines = append(lines, map[string]any{"item": fmt.Sprint("an item of line ", i), "count": i, "notes": []int{i, 2 * i, 3 * i}})
	}
	text, err := json.Marshal(map[string]any{"name": "order of an invented customer", "tags": tags, "lines": lines})
	if err != nil {
		panic(err) // of a value that is written above
	}
	j := &journal{text: text, kept: make([]any, live)}
	for range live { // so that the first request finds the heap that the last one does
		o, err := j.read()
		if err != nil {
			panic(err)
		}
		j.keep(o)
	}
	return j
}

// read returns maps, slices and strings: objects of the heap that a collection has to visit.
func (j *journal) read() (o any, err error) {
	err = json.Unmarshal(j.text, &o)
	return o, err
}

func (j *journal) keep(o any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kept[j.next] = o
	j.next = (j.next + 1) % len(j.kept)
}

func (j *journal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o, err := j.read()
	if err == nil {
		j.keep(o)
		var text []byte
		if text, err = json.Marshal(o); err == nil {
			w.Write(text)
			return
		}
	}
	http.Error(w, err.Error(), http.StatusInternalServerError)
}

// The times of stall.
const (
	stallLength = 500 * time.Millisecond
	stallPeriod = 2 * time.Second
)

// stall counts its periods from when it began.
type stall struct{ began time.Time }

func (s stall) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d := held(time.Since(s.began)); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		}
	}
	fmt.Fprintln(w, "ok")
}

// held is how long a request is held that arrives so long after the beginning.
func held(at time.Duration) time.Duration { return max(0, stallLength-at%stallPeriod) }

// cache fills the caches of the CPU that it runs on.
type cache struct {
	mu    sync.Mutex
	bytes []byte
}

func newCache(size int) *cache { return &cache{bytes: make([]byte, size)} }

func (c *cache) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := 0; i < len(c.bytes); i += 64 { // a line of the cache
		c.bytes[i]++
	}
	fmt.Fprintln(w, "ok")
}
