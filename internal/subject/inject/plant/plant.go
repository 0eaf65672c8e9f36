// Package plant is what dyno certify adds to net/http: changes of a size that is known, in the path
// of each request or beside them. A copy of net/http has this file, with the package clause changed, and a call of
// dynoPlantRequest at the beginning of serverHandler.ServeHTTP, which each request of HTTP/1 and
// HTTP/2 goes through. It owns what a change does; which process has which change, a table says.
//
// It must compile in net/http of any Go from 1.22 on, so it imports only what that imports too.
package plant

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The environment of a planted service: a token, and the file that says what each token stands for.
// A line of it is the token, then the fields of dynoPlantAmounts in their order.
const (
	dynoPlantToken = "DYNO_PLANT"
	dynoPlantTable = "DYNO_PLANT_TABLE"
)

// dynoPlantAmounts are the additional costs of each request, and of work beside the requests.
type dynoPlantAmounts struct {
	spins  uint64        // rounds of dynoPlantSpin
	retain int           // bytes that are never given back
	hold   time.Duration // for so long a request works and holds a lock that all need
	delay  time.Duration // the wait of some requests
	share  float64       // which share of the requests waits, at random
	burn   float64       // the share of one CPU that a goroutine works, whether requests come or not
}

var (
	dynoPlanted *dynoPlantAmounts // nil: the process was started without a token

	dynoPlantLock  sync.Mutex
	dynoPlantKept  atomic.Pointer[dynoPlantNode]
	dynoPlantCount atomic.Uint64 // requests
)

// A dynoPlantNode is what one request retains.
type dynoPlantNode struct {
	next *dynoPlantNode
	data []byte
}

// A token that the table does not know ends the process: a service without the change would be
// taken for one with it.
func init() {
	token := os.Getenv(dynoPlantToken)
	if token == "" {
		return
	}
	text, err := os.ReadFile(os.Getenv(dynoPlantTable))
	if err == nil {
		dynoPlanted = dynoPlantRead(string(text), token)
	}
	if dynoPlanted == nil {
		os.Stderr.WriteString("dyno plant: the table has no " + token + "\n")
		os.Exit(1)
	}
	if dynoPlanted.burn > 0 {
		go dynoPlantBurn(dynoPlanted.burn)
	}
}

// dynoPlantRead returns what a table says of a token; nil if it says nothing.
func dynoPlantRead(table, token string) *dynoPlantAmounts {
	for _, line := range strings.Split(table, "\n") {
		f := strings.Fields(line)
		if len(f) != 7 || f[0] != token {
			continue
		}
		var n [4]int64
		for i := range n {
			v, err := strconv.ParseInt(f[1+i], 10, 64)
			if err != nil || v < 0 {
				return nil
			}
			n[i] = v
		}
		share, err := strconv.ParseFloat(f[5], 64)
		if err != nil {
			return nil
		}
		burn, err := strconv.ParseFloat(f[6], 64)
		if err != nil {
			return nil
		}
		return &dynoPlantAmounts{uint64(n[0]), int(n[1]), time.Duration(n[2]), time.Duration(n[3]), share, burn}
	}
	return nil
}

// dynoPlantRequest is called as each request begins.
//
//lint:ignore U1000 net/http calls it
func dynoPlantRequest() {
	if dynoPlanted != nil {
		dynoPlanted.request()
	}
}

func (a *dynoPlantAmounts) request() {
	if a.spins > 0 {
		dynoPlantSpin(a.spins) //lint:ignore SA4017 its time is the effect
	}
	if a.retain > 0 {
		dynoPlantRetain(a.retain)
	}
	if a.hold > 0 {
		dynoPlantLock.Lock()
		dynoPlantWait(a.hold, a.hold)
		dynoPlantLock.Unlock()
	}
	if a.delay > 0 && dynoPlantDraw(dynoPlantCount.Add(1)) < a.share {
		dynoPlantWait(a.delay, dynoPlantLate)
	}
}

// dynoPlantLate is how late a sleep may end on a machine that has nothing else to do.
const dynoPlantLate = 100 * time.Microsecond

// dynoPlantWait waits for d, and works for the last part of it: a sleep ends too late, by more than
// some services take for a request.
func dynoPlantWait(d, working time.Duration) {
	end := time.Now().Add(d)
	if d > working {
		time.Sleep(d - working)
	}
	for time.Until(end) > 0 {
	}
}

// dynoPlantBurn works 2 ms, and rests as long as makes its share.
func dynoPlantBurn(share float64) {
	const works = 2 * time.Millisecond
	for next := time.Now(); ; {
		dynoPlantWait(works, works)
		next = next.Add(time.Duration(float64(works) / share)) // so that a sleep that ends late makes it no smaller
		if late := time.Until(next); late < -works {
			next = time.Now()
		} else {
			time.Sleep(late)
		}
	}
}

// dynoPlantSpin does rounds of Marsaglia's xorshift (Journal of Statistical Software 8:14, 2003),
// each of which needs the one before. So the CPU time is that of the rounds, whatever else runs.
//
//go:noinline
func dynoPlantSpin(rounds uint64) (x uint64) {
	x = 88172645463325252
	for ; rounds > 0; rounds-- {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// dynoPlantRetain writes to each page, since memory that was never written to is not resident.
func dynoPlantRetain(bytes int) {
	n := &dynoPlantNode{data: make([]byte, bytes)}
	for i := 0; i < bytes; i += 4096 {
		n.data[i] = 1
	}
	for {
		n.next = dynoPlantKept.Load()
		if dynoPlantKept.CompareAndSwap(n.next, n) {
			return
		}
	}
}

// dynoPlantDraw returns a number from 0 to 1 for each n, by SplitMix64 (Steele, Lea and Flood,
// OOPSLA 2014): the draws of different n are as if independent.
func dynoPlantDraw(n uint64) float64 {
	z := n * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64((z^z>>31)>>11) / (1 << 53)
}
