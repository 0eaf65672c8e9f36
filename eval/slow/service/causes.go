package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// timed returns how long a part took.
func timed(part func()) time.Duration {
	began := time.Now()
	part()
	return time.Since(began)
}

// seldom is true in one of some 70 requests.
func seldom() bool { return rand.IntN(70) == 0 }

//go:noinline
func burn(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

func every(d time.Duration, do func()) {
	go func() {
		for {
			time.Sleep(d)
			do()
		}
	}()
}

var causes = map[string]cause{
	"none":      {handle: func() time.Duration { return 0 }},
	"mutex":     {start: func() { every(100*time.Millisecond, store.compact) }, handle: store.get},
	"mutexbusy": {start: func() { every(100*time.Millisecond, store.rebuild) }, handle: store.get},
	"pool":      {start: func() { go worker(); go worker() }, handle: enqueue},
	"slowdep":   {start: serveDependency, handle: askDependency},
	"json":      {handle: func() time.Duration { return onlySeldom(renderAll) }},
	"convoy":    {handle: convoy},
	"stampede":  {handle: flight.get},
	"fanout":    {handle: slowestOfEight},
	"fsync":     {start: openFile, handle: func() time.Duration { return onlySeldom(syncFile) }},
	"hog": {start: func() {
		for range 4 {
			every(40*time.Millisecond, hog)
		}
	}, handle: func() time.Duration { return 0 }},
	"gc":        {start: func() { kept.Store(tree(18)) }, handle: func() time.Duration { allocate(); return 0 }},
	"rwmutex":   {start: func() { every(100*time.Millisecond, table.replace) }, handle: table.read},
	"logchan":   {start: func() { go drain() }, handle: logLine},
	"sqlpool":   {start: openDB, handle: query},
	"transport": {start: serveDependency, handle: askThroughOne},
	"errgroup":  {handle: limitedGroup},
	"timer":     {handle: func() time.Duration { return onlySeldom(backOff) }},
	"syscall":   {handle: func() time.Duration { return onlySeldom(blockInKernel) }},
	"dns":       {start: serveDNS, handle: func() time.Duration { return onlySeldom(lookUp) }},
	"finalizer": {start: func() { every(40*time.Millisecond, runtime.GC) }, handle: finalized},
	"pages":     {start: mapFile, handle: func() time.Duration { return onlySeldom(touchPages) }},
	"cond":      {start: func() { every(100*time.Millisecond, gate.closeFor) }, handle: gate.pass},
}

func onlySeldom(part func()) time.Duration {
	if !seldom() {
		return 0
	}
	return timed(part)
}

// A lock that a background job holds, asleep or busy.
type cache struct {
	mu sync.Mutex
	m  map[int]int
}

var store = &cache{m: map[int]int{}}

func (c *cache) get() time.Duration {
	began := time.Now()
	c.mu.Lock()
	waited := time.Since(began)
	_ = c.m[1]
	c.mu.Unlock()
	return waited
}

func (c *cache) compact() {
	c.mu.Lock()
	time.Sleep(5 * time.Millisecond)
	c.mu.Unlock()
}

func (c *cache) rebuild() {
	c.mu.Lock()
	burn(5 * time.Millisecond)
	c.mu.Unlock()
}

// A pool of two workers.
type job struct {
	queued time.Time
	done   chan struct{}
}

var jobs = make(chan *job, 1000)

func worker() {
	for j := range jobs {
		work()
		close(j.done)
	}
}

func work() { time.Sleep(1200 * time.Microsecond) }

func enqueue() time.Duration {
	j := &job{queued: time.Now(), done: make(chan struct{})}
	jobs <- j
	<-j.done
	return time.Since(j.queued)
}

// Another service that is slow now and then.
var dependency *httptest.Server

var manyConns = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
var oneConn = &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}

func serveDependency() {
	dependency = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" {
			time.Sleep(8 * time.Millisecond)
		}
		fmt.Fprint(w, "ok")
	}))
}

func ask(client *http.Client, query string) {
	r, err := client.Get(dependency.URL + "/" + query)
	if err != nil {
		return
	}
	io.Copy(io.Discard, r.Body)
	r.Body.Close()
}

func askDependency() time.Duration {
	query := ""
	if seldom() {
		query = "?slow"
	}
	return timed(func() { ask(manyConns, query) })
}

func askThroughOne() time.Duration {
	query := ""
	if rand.IntN(300) == 0 {
		query = "?slow"
	}
	return timed(func() { ask(oneConn, query) })
}

// A large answer.
var items = func() (all []map[string]any) {
	for i := range 8000 {
		all = append(all, map[string]any{"id": i, "name": fmt.Sprint("name ", i), "value": float64(i) * 1.5})
	}
	return all
}()

func renderAll() { json.NewEncoder(io.Discard).Encode(items) }

// A lock that each request holds for a quarter of a millisecond.
var narrow sync.Mutex

func convoy() time.Duration {
	began := time.Now()
	narrow.Lock()
	waited := time.Since(began)
	burn(250 * time.Microsecond)
	narrow.Unlock()
	return waited
}

// One loads what all wait for.
type call struct{ wg sync.WaitGroup }

type single struct {
	mu    sync.Mutex
	c     *call
	until time.Time
}

var flight single

func (s *single) load() { time.Sleep(6 * time.Millisecond) }

func (s *single) get() time.Duration {
	began := time.Now()
	s.mu.Lock()
	if began.Before(s.until) {
		s.mu.Unlock()
		return time.Since(began)
	}
	if c := s.c; c != nil {
		s.mu.Unlock()
		c.wg.Wait()
		return time.Since(began)
	}
	c := &call{}
	c.wg.Add(1)
	s.c = c
	s.mu.Unlock()
	s.load()
	s.mu.Lock()
	s.c, s.until = nil, time.Now().Add(150*time.Millisecond)
	s.mu.Unlock()
	c.wg.Done()
	return time.Since(began)
}

// The slowest of eight parts.
func shard() {
	d := 500 * time.Microsecond
	if rand.IntN(330) == 0 {
		d = 8 * time.Millisecond
	}
	time.Sleep(d)
}

func slowestOfEight() time.Duration {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(shard)
	}
	began := time.Now()
	wg.Wait()
	return time.Since(began)
}

// At most two parts at a time.
func limitedGroup() time.Duration {
	slots := make(chan struct{}, 2)
	var wg sync.WaitGroup
	parts := 2
	if seldom() {
		parts = 12
	}
	return timed(func() {
		for range parts {
			slots <- struct{}{}
			wg.Go(func() { part(); <-slots })
		}
		wg.Wait()
	})
}

func part() { time.Sleep(1200 * time.Microsecond) }

// Readers that a writer holds up.
type lookup struct {
	mu sync.RWMutex
	m  map[int]int
}

var table lookup

func (t *lookup) read() time.Duration {
	began := time.Now()
	t.mu.RLock()
	waited := time.Since(began)
	_ = t.m[1]
	t.mu.RUnlock()
	return waited
}

func (t *lookup) replace() {
	t.mu.Lock()
	time.Sleep(6 * time.Millisecond)
	t.mu.Unlock()
}

// Log lines for a writer that is slow now and then.
var lines = make(chan string, 4)

func drain() {
	n := 0
	for range lines {
		if n++; n%150 == 0 {
			writeOut()
		}
	}
}

func writeOut() { time.Sleep(9 * time.Millisecond) }

func logLine() time.Duration { return timed(func() { lines <- "a request" }) }

// database/sql with two connections.
type fake struct{}

func (fake) Connect(context.Context) (driver.Conn, error) { return conn{}, nil }
func (fake) Driver() driver.Driver                        { return nil }

type conn struct{}

func (conn) Prepare(string) (driver.Stmt, error) { return statement{}, nil }
func (conn) Close() error                        { return nil }
func (conn) Begin() (driver.Tx, error)           { return nil, driver.ErrSkip }

type statement struct{}

func (statement) Close() error  { return nil }
func (statement) NumInput() int { return 0 }
func (statement) Exec([]driver.Value) (driver.Result, error) {
	began := time.Now()
	answer()
	return driver.RowsAffected(time.Since(began)), nil
}
func (statement) Query([]driver.Value) (driver.Rows, error) { return nil, driver.ErrSkip }

func answer() { time.Sleep(1200 * time.Microsecond) }

var db *sql.DB

func openDB() {
	db = sql.OpenDB(fake{})
	db.SetMaxOpenConns(2)
	db.SetMaxIdleConns(2)
}

// query returns what it took beside the answer itself: the wait for a connection.
func query() time.Duration {
	began := time.Now()
	r, err := db.Exec("update")
	took := time.Since(began)
	if err != nil {
		return took
	}
	answered, _ := r.RowsAffected() // by Exec above
	return took - time.Duration(answered)
}

// A wait of a fixed time.
func backOff() { time.Sleep(7 * time.Millisecond) }

// The kernel, for as long.
func blockInKernel() {
	wait := syscall.NsecToTimespec(int64(7 * time.Millisecond))
	syscall.Nanosleep(&wait, nil)
}

// A name server that takes its time.
var resolver = &net.Resolver{PreferGo: true}

func serveDNS() {
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	resolver.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", pc.LocalAddr().String())
	}
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			answer := append([]byte(nil), buf[:n]...)
			answer[2], answer[3] = 0x84, 0x03 // authoritative: there is no such name
			time.AfterFunc(6*time.Millisecond, func() { pc.WriteTo(answer, from) })
		}
	}()
}

func lookUp() { resolver.LookupIP(context.Background(), "ip4", "name.test.") }

// A resource that a finalizer gives back.
type handle struct{ _ [64]int }

var free = make(chan struct{}, 4)

func init() {
	for range cap(free) {
		free <- struct{}{}
	}
}

func finalized() time.Duration {
	if rand.IntN(3) != 0 {
		return 0
	}
	return take()
}

func take() time.Duration {
	began := time.Now()
	<-free
	waited := time.Since(began)
	runtime.SetFinalizer(&handle{}, func(*handle) { free <- struct{}{} })
	return waited
}

// A gate that is closed now and then.
type barrier struct {
	mu   sync.Mutex
	cond *sync.Cond
	shut bool
}

var gate = func() *barrier { b := &barrier{}; b.cond = sync.NewCond(&b.mu); return b }()

func (b *barrier) pass() time.Duration {
	return timed(func() {
		b.mu.Lock()
		for b.shut {
			b.cond.Wait()
		}
		b.mu.Unlock()
	})
}

func (b *barrier) closeFor() {
	b.set(true)
	time.Sleep(6 * time.Millisecond)
	b.set(false)
}

func (b *barrier) set(shut bool) {
	b.mu.Lock()
	b.shut = shut
	b.mu.Unlock()
	b.cond.Broadcast()
}
