package slow

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno/internal/analysis/exectrace"
)

// A Trial is what one trial's trace says of requests of which one in so many was slower.
type Trial struct {
	N, Block int
	File     string  // of the trace, where that has not the trial's name
	Quantile float64 // of the slow: 0.99

	Length    time.Duration // of the trace
	Cut       bool          // the trace is longer than what was read
	Sent      int           // requests that the client sent and got answered in it; 0 if that is not known
	Requests  int           // of them, or of the service's own, that are in the trace as a whole
	Tracing   int           // others, which are left out, as the runtime wrote the trace itself meanwhile
	Preempted bool          // it is known when the kernel did not let threads run
	Throttled float64       // share of the periods in which a CPU limit was used up
	Matched   bool          // each was held against the client's; else times are the service's alone

	// By the time that a request took in the service: from when it was sent to the end of its answer's last
	// write, less the time in which the kernel had not woken the service though a P was free and no CPU limit used up. Where the client's
	// requests are not known, it is from when its goroutine woke.
	Typical, Slow, Band Group
	At                  float64 // the quantile, in seconds

	Client Client

	Slowest []Life // the slowest first
	Usual   *Life  // of the median
	Heat    []Cell // of all requests
}

// P99 is the usual quantile.
const P99 = 0.99

// A Group is some of the requests: the mean of their time, in seconds, and where it went.
type Group struct {
	N    int
	Mean float64
	Cost map[Key]float64
	// Sampling is the variance of each cost's mean that comes from how few they are.
	Sampling map[Key]float64
	// Samples are those of all its requests while they ran: by these, running has lines. In Cost it has none.
	Samples map[Site]int
	// Calls are how long a request ran up to a call on a line, in seconds: where samples are too few, that is what is known.
	Calls map[Site]float64
}

var bare = Key{Part: exectrace.Running}

// each calls do for all costs. Where it is not known when the kernel kept threads off the CPU, that is running.
func (g *Group) each(known bool, do func(k Key, mean, sampling float64)) {
	for k, mean := range g.Cost {
		to := k
		if !known && k.Part == exectrace.Preempted {
			to = bare
		}
		do(to, mean, g.Sampling[k])
	}
}

// known reports whether it is known of all trials when the kernel kept threads off the CPU.
func known(trials ...[]*Trial) bool {
	return !slices.ContainsFunc(slices.Concat(trials...), func(t *Trial) bool { return !t.Preempted })
}

// Client is how much of the slow requests' excess lies outside of the service, the slow by the client's latency,
// in seconds: their means less those of the typical requests.
type Client struct {
	Typical, Slow float64 // latency from when they were due
	InDyno        float64 // due, and not yet sent
	Waking        float64 // sent, and the kernel had not yet woken the service, though a P was free
	Service       float64 // in the service
	Leaving       float64 // answered, and not yet received: the kernel, and dyno
}

// typical are the requests between these quantiles.
const typicalFrom, typicalTo = 0.4, 0.6

// mostEach is of how many requests a group's costs are at most: a uniform part of them.
const mostEach = 1000

// leastSlow is how many requests of all traces together have to be slower than the quantile.
const leastSlow = 5

// one is a request on both clocks.
type one struct {
	served
	Request  // zero if there is no client
	from, to int64
	waking   int64 // of it, before its goroutine woke and with a P free
}

func (o *one) took() int64 { return o.to - o.from - o.waking }

// arrived is when its goroutine woke, within the time that the client knows of.
func (o *one) arrived() int64 { return min(max(o.woken, o.from), o.to) }

// busy is until when its connection was still busy with the request before.
func (o *one) busy() int64 { return min(max(o.waits, o.from), o.arrived()) }

// Of explains the requests of a trial, by a trace and by what the client sent and got answered within it, if that
// is known. It sorts sent. It is nil if none of the requests in the trace is above the quantile.
func (t *Trace) Of(sent []Request, quantile float64) *Trial {
	r := &Trial{Quantile: quantile, Length: t.Length(), Cut: t.Cut, Preempted: t.Preempted}
	all := t.served()
	ones := t.known(sent, all)
	r.Sent, r.Matched = len(sent), len(ones) > 0 && len(ones) >= len(sent)*9/10
	if !r.Matched {
		ones = ones[:0]
		for _, s := range all {
			ones = append(ones, one{served: s, from: s.woken, to: s.done})
		}
	}
	found := len(ones)
	ones = t.apart(ones)
	r.Requests, r.Tracing = len(ones), found-len(ones)
	if float64(found)*(1-quantile) < 1 || len(ones) == 0 {
		return nil
	}
	if r.Matched {
		r.Client = outside(ones, quantile)
	}
	slices.SortFunc(ones, func(a, b one) int { return int(a.took() - b.took()) })
	r.Slowest, r.Usual = t.lives(ones)
	r.Heat = t.heat(ones)
	part := func(from, to float64) []one {
		n := float64(len(ones))
		return ones[int(math.Floor(from*n)):max(int(math.Floor(from*n))+1, int(math.Ceil(to*n)))]
	}
	r.At = float64(part(quantile, quantile)[0].took()) / 1e9
	r.Slow = t.group(part(quantile, 1), r.Matched)
	half := math.Min((1-quantile)/2, 0.025)
	r.Band = t.group(part(quantile-half, quantile+half), r.Matched)
	r.Typical = t.group(part(typicalFrom, typicalTo), r.Matched)
	return r
}

// mostTracing is of a request's time: how long the runtime may write the trace meanwhile.
const mostTracing = 0.1

// apart leaves out requests that the trace itself may have made slow: once a second the runtime writes it, and takes a
// CPU for milliseconds (runtime/trace.go, traceAdvancer). At 20 requests a second, that is several of a hundred.
func (t *Trace) apart(ones []one) []one {
	var all []span
	for _, g := range t.goroutines {
		if !strings.HasPrefix(t.sites[g.root].Func, "runtime.(*traceAdvancerState)") {
			continue
		}
		for i := range g.life {
			if onCPU(g.life[i].part) {
				all = append(all, span{g.from(i), g.life[i].end})
			}
		}
	}
	tracing := calm{sum: []int64{0}}
	for _, s := range union(all) {
		tracing.add(s.begin, s.end)
	}
	return slices.DeleteFunc(ones, func(o one) bool {
		return float64(tracing.in(o.from, o.to)) > mostTracing*float64(o.to-o.from)
	})
}

// known are the client's requests that are found in the trace.
func (t *Trace) known(sent []Request, all []served) (ones []one) {
	slices.SortFunc(sent, func(a, b Request) int { return cmp.Compare(a.Sent, b.Sent) })
	idle := t.idle()
	for i, n := range found(sent, all) {
		if n == none {
			continue
		}
		s, q := all[n], sent[i]
		o := one{served: s, Request: q, from: q.Sent, to: max(q.Sent, min(s.done, q.Done))}
		if !t.Limited { // else it is the service's own
			o.waking = idle.in(o.busy(), o.arrived())
		}
		ones = append(ones, o)
	}
	return ones
}

// found are the served by request, sorted by sent. Connections and handlers both may explain them, as where a service asks
// itself in another protocol: first come those that explain more, and more closely.
func found(sent []Request, all []served) []int32 {
	first, second := match(sent, all), handlers(sent, all)
	explains := func(of []int32) (n int, gap int64) {
		for i, s := range of {
			if s != none {
				n++
				gap += all[s].woken - sent[i].Sent + sent[i].Done - all[s].done
			}
		}
		return n, gap
	}
	n, gap := explains(first)
	if n2, gap2 := explains(second); n2 > n || n2 == n && gap2 < gap {
		first, second = second, first
	}
	for i := range first {
		if first[i] == none {
			first[i] = second[i]
		}
	}
	return first
}

// group sums up requests.
func (t *Trace) group(ones []one, matched bool) Group {
	g := Group{N: len(ones), Cost: map[Key]float64{}, Sampling: map[Key]float64{}, Samples: map[Site]int{}, Calls: map[Site]float64{}}
	calls := map[Site]float64{}
	step := max(1, (len(ones)+mostEach-1)/mostEach)
	n := float64((len(ones) + step - 1) / step)
	squares := map[Key]float64{}
	for i := 0; i < len(ones); i += step {
		o := &ones[i]
		c := tally{cost{}, g.Samples, calls}
		if matched {
			t.spend(&c, o.goroutine, o.from, o.busy())
			t.arrive(&c, o)
		}
		ended := o.to
		if o.ended != 0 {
			ended = max(o.arrived(), min(o.ended, o.to))
			t.spend(&c, o.writer, ended, o.to)
		}
		t.spend(&c, o.goroutine, o.arrived(), ended)
		g.Mean += float64(o.took()) / 1e9 / n
		for k, ns := range c.cost {
			s := ns / 1e9
			g.Cost[k] += s / n
			squares[k] += s * s / n
		}
	}
	for site, ns := range calls {
		g.Calls[site] = ns / 1e9 / n
	}
	for k, mean := range g.Cost {
		g.Sampling[k] = math.Max(0, squares[k]-mean*mean) / n
	}
	return g
}

// arrive adds what a request waited before its goroutine woke.
func (t *Trace) arrive(c *tally, o *one) {
	if t.named != nil { // before a region the goroutine did something else, as reading the request
		t.spend(c, o.goroutine, o.busy(), o.arrived())
		return
	}
	t.behind(o.busy(), o.arrived(), func(by Culprit, ns float64) {
		if t.Limited || !by.Idle {
			c.cost.add(Key{Part: Arriving, By: by}, ns)
		}
	})
}

// outside says by the client's latency where the slow requests' excess is.
func outside(ones []one, quantile float64) (c Client) {
	byClient := slices.Clone(ones)
	slices.SortFunc(byClient, func(a, b one) int { return int((a.Done - a.Due) - (b.Done - b.Due)) })
	n := float64(len(byClient))
	mean := func(from, to float64, of func(o *one) int64) (sum float64) {
		some := byClient[int(from*n):max(int(from*n)+1, int(math.Ceil(to*n)))]
		for i := range some {
			sum += float64(of(&some[i])) / 1e9 / float64(len(some))
		}
		return sum
	}
	latency := func(o *one) int64 { return o.Done - o.Due }
	excess := func(of func(o *one) int64) float64 { return mean(quantile, 1, of) - mean(typicalFrom, typicalTo, of) }
	return Client{
		Typical: mean(typicalFrom, typicalTo, latency), Slow: mean(quantile, 1, latency),
		InDyno:  excess(func(o *one) int64 { return o.Sent - o.Due }),
		Waking:  excess(func(o *one) int64 { return o.waking }),
		Service: excess(func(o *one) int64 { return o.took() }),
		Leaving: excess(func(o *one) int64 { return o.Done - o.to }),
	}
}
