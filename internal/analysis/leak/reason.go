package leak

import (
	"time"

	"github.com/dynolab/dyno/internal/stats"
)

// A Reason says why it is not known whether something leaks. The zero value is no reason.
type Reason struct {
	Kind   ReasonKind
	Trend  stats.Reason  // of ByTrend and LoadOpened: what the series lacks; else the zero value
	N, Of  int           // as the kinds say
	Lows   int           // of FewLows
	Level  int           // of TrialsDiffer
	Bytes  float64       // of GrewAtRest, and of FewCollections: how much more the last found live than the first, 0 if that is noise or better is known
	Window time.Duration // of FewCollections and FewLows
	Longer time.Duration // a window that would probably tell; 0 if length is not what it lacks
	Text   string        // in words; package words fills it in for summary.json
}

// A ReasonKind is a case of [Reason].
type ReasonKind string

const (
	NoSeries       ReasonKind = "no-series"        // nothing tells of memory
	ByTrend        ReasonKind = "trend"            // the series cannot tell
	FewCollections ReasonKind = "few-collections"  // N, and it takes Of
	FewLows        ReasonKind = "few-lows"         // of N collections readings show so many Lows, and it takes Of
	ResidentOnly   ReasonKind = "resident-only"    // in less than N minutes it tells nothing
	GrewAtRest     ReasonKind = "grew-at-rest"     // level under load, and grew by Bytes in the rest that followed
	GrewAfter      ReasonKind = "grew-after"       // level under load, and more when no request was under way
	Queued         ReasonKind = "queued"           // it grew under load only: waiting requests hold it
	LoadOpened     ReasonKind = "load-opened"      // N connections, which are part of it
	LoadAll        ReasonKind = "load-opened-all"  // N connections, which may be all of it
	RateRose       ReasonKind = "rate-rose"        // and what stayed at rest is not known
	RateConnected  ReasonKind = "rate-connections" // the rate rose, and N connections more
	Noisy          ReasonKind = "noisy"            // even a doubling would not have been seen
	NotTouched     ReasonKind = "not-touched"      // no more yet than what the runtime has mapped
	TrialsDiffer   ReasonKind = "trials-differ"    // N of Of leak, and Level do not
)
