package load

import (
	"fmt"
	"strings"
	"time"

	"github.com/dynolab/dyno"
)

// A load is doubted above this share of the generator's cores, below this share
// of the rate, above this p99 lateness, or above this share of waiting requests.
const (
	mostCPU      = 0.8
	leastRate    = 0.99
	mostLateness = time.Millisecond
	mostWaited   = 0.01
	mostStrayed  = 0.01
	mostClosed   = 0.1
	mostParted   = 0.2

	// Linux delays an acknowledgement by 40 ms or more (TCP_DELACK_MIN), in ticks of up to 10 ms, where
	// less than a segment has come.
	leastAckDelay = 35 * time.Millisecond
	mostAckDelay  = 60 * time.Millisecond
	mostUnacked   = 64 << 10
	mostOfTurn    = 0.1 // of a turn by the clock that p99 may take: doc/method/turns.md, "Open loads in turns"
)

func (r *runner) doubt(rec *Record, sum *totals) {
	rec.Warnings = append(rec.Warnings, r.scenario.Warnings...)
	rec.WarnOfFailures()
	if len(sum.asides) > 0 {
		rec.Warnings.Add(dyno.WarnOtherFailures, "requests outside the measurement failed: %s", causes(sum.asides, nil))
	}
	if r.unclosed != "" {
		rec.Warnings.Add(dyno.WarnOtherFailures, "the load's program: %s", r.unclosed)
	}
	if sum.redirects > 0 {
		rec.Warnings.Add(dyno.WarnRedirects, "%d answers were redirects (status 3xx); dyno counts them as success and does not follow them (consider: the path that they lead to)", sum.redirects)
	}
	if n := r.twice; n > 0 {
		rec.Warnings.Add(dyno.WarnSentAgain, "%d requests were sent again on a new connection, as the service had closed the old one; their latency includes both attempts", n)
	}
	if rec.Requests == 0 {
		return
	}
	if n := r.hungUp.Load(); float64(n) > mostClosed*float64(rec.Requests) {
		rec.Warnings.Add(dyno.WarnClosed, "the service closed the connection after %d of %d answers: latency includes new connections, each of which may hold a local port for a minute after it (TIME_WAIT), and a new one takes the generator milliseconds once half of them are held (consider: keep-alive in the service, or a lower rate)", n, rec.Requests)
	}
	if n := r.parted.Load(); float64(n) > mostParted*float64(rec.Requests) {
		rec.Warnings.Add(dyno.WarnNagle, "%d of %d answers came in two parts that were about 40 ms apart: perhaps the service writes them separately with Nagle's algorithm on, so that the second waits for the acknowledgement of the first, which this kernel delays (consider: one write for both, such as by a bufio.Writer, or SetNoDelay(true))", n, rec.Requests)
	}
	var limits []string
	limit := func(format string, args ...any) { limits = append(limits, fmt.Sprintf(format, args...)) }
	if rec.CPU > mostCPU {
		limit("the generator used %.0f %% of its CPU time", 100*rec.CPU)
	}
	if r.rec.open {
		r.doubtSchedule(rec, sum, limit)
	}
	r.doubtTurns(rec)
	if rec.Saturated = strings.Join(limits, "; "); len(limits) > 0 {
		rec.Warnings.Add(dyno.WarnSaturated, "%s: latency is not compared (consider: a lower rate, other concurrency, or more CPU for dyno)", rec.Saturated)
	}
}

func (r *runner) doubtSchedule(rec *Record, sum *totals, limit func(string, ...any)) {
	if rec.Unsent > 0 {
		rec.Warnings.Add(dyno.WarnUnsent, "%s before the load ended", r.unsentText(rec.Unsent))
	}
	begun := rec.Lateness.Count() // requests, or sessions
	if begun == 0 {
		return
	}
	asked, rate := float64(begun+rec.Unsent)/r.planned().Seconds(), float64(begun)/rec.Own.Seconds()
	if r.complete && rate < leastRate*asked {
		by, of := "", ""
		if r.load.Session() {
			of = " sessions"
		}
		if sum.waited > 0 && rec.Lateness.Quantile(0.99) <= mostLateness { // else it was the generator
			by = fmt.Sprintf(" (the service took no more over its %s)", plural(r.players(), r.player()))
		}
		limit("the rate was %.4g%s/s, not the %.4g/s asked for%s", rate, of, asked, by)
	}
	// Below 100 requests the p99 is the maximum.
	if p99 := rec.Lateness.Quantile(0.99); p99 > mostLateness && begun >= 100 {
		limit("the generator sent late, p99 %v", p99.Round(10*time.Microsecond))
	}
	if share := float64(rec.Waited) / float64(begun); share > mostWaited {
		rec.Warnings.Add(dyno.WarnWaited, "%.1f %% of the %s waited for one of dyno's %s; their latency includes the wait (consider: more concurrency)",
			100*share, r.due(), plural(r.players(), r.player()))
	}
}

// due returns what the schedule of an open load counts, in words.
func (r *runner) due() string {
	if r.load.Session() {
		return "sessions"
	}
	return "requests"
}

// player names what has to be free before an open load can send.
func (r *runner) player() string {
	if r.load.Session() || r.distant != nil {
		return "client"
	}
	return "connection"
}

func (r *runner) unsentText(n int64) string {
	if r.load.Session() {
		return fmt.Sprintf("%d sessions were due and could not begin", n)
	}
	return fmt.Sprintf("%d requests were due and could not be sent", n)
}

// doubtTurns is about turns by the clock.
func (r *runner) doubtTurns(rec *Record) {
	if share := float64(r.strayed) / float64(rec.Requests); share > mostStrayed {
		rec.Warnings.Add(dyno.WarnTurns, "%.1f %% of the requests were later steps that began in the turns of other settings, as a load's program does not wait for its own (consider: --alone)", 100*share)
	}
	p99, turn, cure := rec.Latency.Quantile(0.99), r.slot, "a longer --turn, or --alone"
	if turn == 0 || float64(p99) <= mostOfTurn*float64(turn) {
		return
	}
	miss := ""
	if r.rec.open {
		miss, cure = ", and dyno misses a queue that builds up over several turns", "a longer --turn, a lower rate, or --alone"
	}
	rec.Warnings.Add(dyno.WarnTurns, "turns of %v are short for a p99 of %v: answers arrive in the turns of other settings%s (consider: %s)",
		turn, p99.Round(10*time.Microsecond), miss, cure)
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Check returns an error if more requests failed than the load allows: fast errors are no good
// latency. No measured request is an error too. base is the address of the service.
func (rec *Record) Check(base string, l *dyno.Load) error {
	if rec.Requests+rec.Unsent == 0 {
		return fmt.Errorf("load %s: no request was measured (consider: a longer duration)", base)
	}
	limit := float64(*l.Resolved().MaxFailures)
	bad, all := rec.Failed+rec.Unsent, rec.Requests+rec.Unsent
	share := float64(bad) / float64(all)
	if share <= limit {
		return rec.died(base, limit)
	}
	most, cure, verb := "not sent in time", "a lower rate, or more concurrency", "failed"
	if rec.Unsent > 0 {
		verb = "failed or were not sent in time"
	}
	if top := rec.MostFrequent(); int64(rec.Failures[top]) >= max(rec.Unsent, 1) {
		most, cure = withExample(top, rec.Examples[top]), rec.Cures[top]
	}
	return fmt.Errorf("load %s: %d of %d requests %s (%.3g %%), more than the %v that max_failures allows: most often %s (consider: %s)",
		base, bad, all, verb, 100*share, dyno.Fraction(limit), most, cure)
}

const leastDead = 10

// died returns an error if the end of a closed load had no success. Clients rest
// after failures, so a dead service causes few: its dead time counts, not their number.
func (rec *Record) died(base string, limit float64) error {
	dead := rec.LastBad - rec.LastGood
	if rec.Bad < leastDead || limit >= 1 || float64(dead) <= max(limit, 0.05)*float64(rec.Played) {
		return nil
	}
	most := rec.MostFrequent()
	return fmt.Errorf("load %s: no request succeeded in the last %v of %v: most often %s (consider: %s)",
		base, dead.Round(time.Millisecond), rec.Played.Round(time.Millisecond), withExample(most, rec.Examples[most]), rec.Cures[most])
}
