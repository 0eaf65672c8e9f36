// Leaks is a service of which is known whether it leaks, how much and where. Every
// mode answers the same requests with the same ordinary work; a mode adds one thing
// that keeps memory.
//
//	leak       -leak bytes for every 1,000 requests, in pieces of -chunk, for ever
//	goroutine  every -every'th request leaves a goroutine behind, which holds -chunk bytes
//	fill       a cache that takes -entries and then replaces
//	expiry     a cache whose entries live for -ttl
//	step       a table of -size bytes, loaded once, -at after the first request
//	reload     a table of -size bytes, read anew every -ttl
//	batch      records of every request, until there are -entries
//	ring       the last -entries answers
//	workers    up to -entries goroutines, each with a buffer
//	buffers    a sync.Pool of buffers of 256 B to 256 KiB
//	steady     nothing
//
// A comment "truth:" marks the lines of which a verdict has to name one.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

type item struct {
	ID    int      `json:"id"`
	Name  string   `json:"name"`
	Tags  []string `json:"tags"`
	Price float64  `json:"price"`
	Note  string   `json:"note"`
}

// A shop answers; what it keeps beside its stock is what the mode is about.
type shop struct {
	stock []item
	keep  func()

	leak, chunk, every, entries, size int
	ttl, at                           time.Duration

	mu      sync.Mutex
	began   time.Time
	served  int
	journal journal
	cache   map[int]*entry
	table   [][]byte
	healthy
}

func main() {
	s := &shop{cache: map[int]*entry{}}
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to listen on")
	mode := flag.String("mode", "steady", "leak, goroutine, fill, expiry, step, reload, batch, ring, workers, buffers or steady")
	flag.IntVar(&s.leak, "leak", 10<<10, "`bytes` kept of every 1,000 requests")
	flag.IntVar(&s.chunk, "chunk", 1024, "`bytes` of a piece that leaks, best a size class of the runtime")
	flag.IntVar(&s.every, "every", 20, "a goroutine for every `n`th request")
	flag.IntVar(&s.entries, "entries", 5000, "`number` that the cache takes")
	flag.DurationVar(&s.ttl, "ttl", 15*time.Second, "`life` of an entry")
	flag.DurationVar(&s.at, "at", time.Minute, "`time` of the step, after the first request")
	flag.IntVar(&s.size, "size", 8<<20, "`bytes` of the step")
	flag.Parse()
	modes := map[string]func(){
		"leak": s.record, "goroutine": s.notify, "fill": s.remember, "expiry": s.login, "step": s.load, "reload": s.reload,
		"batch": s.gather, "ring": s.recall, "workers": s.hire, "buffers": s.borrow, "steady": func() {},
	}
	if s.keep = modes[*mode]; s.keep == nil {
		log.Fatalf("no mode is called %q", *mode)
	}
	for i := range 12000 { // some 4 MiB, so that collections come at a service's pace
		s.stock = append(s.stock, item{i, fmt.Sprint("item ", i), []string{"new", "wool"}, 9.5 + float64(i), strings.Repeat("soft ", 20)})
	}
	if *mode == "expiry" {
		go s.expire()
	}
	http.HandleFunc("GET /items", s.list)
	log.Fatal(http.ListenAndServe(*addr, nil))
}

// list answers with some twenty items, for which it allocates some 20 KiB.
func (s *shop) list(w http.ResponseWriter, r *http.Request) {
	at := rand.IntN(len(s.stock) - 30)
	text := bytes.NewBuffer(make([]byte, 0, 16<<10))
	if err := json.NewEncoder(text).Encode(s.stock[at : at+10+rand.IntN(20)]); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.mu.Lock()
	if s.served++; s.served == 1 {
		s.began = time.Now()
	}
	s.keep()
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Write(text.Bytes())
}

// A journal is a list that nobody cuts. Every record takes its text and 32 bytes.
type journal struct {
	last *record
	owed int // thousandths of a byte
}

type record struct {
	before *record
	text   []byte
}

const recordSize = 32 // of a record itself

func (s *shop) record() {
	s.journal.owed += s.leak
	for s.journal.owed >= 1000*(s.chunk+recordSize) {
		s.journal.owed -= 1000 * (s.chunk + recordSize)
		s.journal.add(s.chunk)
	}
}

//go:noinline
func (j *journal) add(n int) {
	text := make([]byte, n)        // truth: leak
	j.last = &record{j.last, text} // truth: leak
}

// notify waits for word from somebody who has forgotten about it.
//
//go:noinline
func (s *shop) notify() {
	if s.served%s.every != 0 {
		return
	}
	word := make(chan int)
	order := make([]byte, s.chunk)
	go func() {
		order[<-word] = 1
	}()
}

type entry struct {
	until time.Time
	text  []byte
}

func newEntry(until time.Time) *entry {
	return &entry{until, make([]byte, 512+256*rand.IntN(5))}
}

// remember caches what was asked for: one of four times as many keys as there is
// room for, so that the cache is full after 4 ln(4/3) = 1.15 requests for each entry.
func (s *shop) remember() {
	key := rand.IntN(4 * s.entries)
	if s.cache[key] != nil {
		return
	}
	if len(s.cache) == s.entries {
		for old := range s.cache {
			delete(s.cache, old)
			break
		}
	}
	s.cache[key] = newEntry(time.Time{})
}

// login makes a session.
func (s *shop) login() {
	s.cache[s.served] = newEntry(time.Now().Add(s.ttl))
}

// expire is the janitor of sessions. It comes four times in the life of one.
func (s *shop) expire() {
	for now := range time.Tick(s.ttl / 4) {
		s.mu.Lock()
		for key, e := range s.cache {
			if e.until.Before(now) {
				delete(s.cache, key)
			}
		}
		s.mu.Unlock()
	}
}

// load reads a table when it is first wanted.
func (s *shop) load() {
	if s.table != nil || time.Since(s.began) < s.at {
		return
	}
	s.table = newTable(s.size)
}
