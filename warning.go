package dyno

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Warning is a doubt about a trial, or about a run, that the reader must see.
type Warning struct {
	Kind WarningKind `json:"kind,omitempty"` // "" in results that older versions wrote
	Of   string      `json:"of,omitempty"`   // the probe, package, file or metric that it is about, if trials can have several of the kind
	Text string      `json:"text"`           // a sentence without its full stop, with the trial's own figures
}

// A WarningKind says what a warning is about, for code that counts, merges or drops warnings.
type WarningKind string

// The kinds of warnings of a load.
const (
	WarnFailures      WarningKind = "failures"       // measured requests failed
	WarnOtherFailures WarningKind = "other-failures" // requests that are not measured failed
	WarnEndedEarly    WarningKind = "ended-early"    // so many failed that the load gave up
	WarnRedirects     WarningKind = "redirects"
	WarnSentAgain     WarningKind = "sent-again" // on a new connection
	WarnClosed        WarningKind = "closed"     // by the service, after answers: connections
	WarnNagle         WarningKind = "nagle"      // the second part of answers waits for a delayed acknowledgement
	WarnSaturated     WarningKind = "saturated"  // the generator was the limit: Sent.Saturated says how
	WarnUnsent        WarningKind = "unsent"
	WarnWaited        WarningKind = "waited" // for a connection
	WarnTurns         WarningKind = "turns"  // of an open load were too short for its answers
	WarnRequestsKept  WarningKind = "requests-kept"
	WarnSlowest       WarningKind = "slowest-unknown" // timeouts rank as the slowest
	WarnCommand       WarningKind = "load-command"    // its output is not understood, or lacks something
	WarnTemplate      WarningKind = "template"        // in a file that is sent as it is
	WarnReplay        WarningKind = "replay"          // leaves out a part of the recording, or guesses its times
)

// The kinds of warnings of a subject and the look at it.
const (
	WarnUnsettled   WarningKind = "unsettled" // memory grew until the end of the window
	WarnNotInjected WarningKind = "not-injected"
	WarnNotGo       WarningKind = "not-go"
	WarnAnswers     WarningKind = "answers" // by others than the process that was launched
	WarnLimit       WarningKind = "cpu-limit"
	WarnLate        WarningKind = "late-end"     // it had to be killed
	WarnProbe       WarningKind = "probe"        // failed, or missed a part
	WarnNeedRests   WarningKind = "need-rests"   // a need worked in the turns of other settings
	WarnNotImage    WarningKind = "not-image"    // an installed program stands for the image of a need
	WarnProbeCost   WarningKind = "probe-cost"   // it took time from the subject
	WarnMetric      WarningKind = "metric"       // is left out
	WarnCoarse      WarningKind = "coarse"       // CPU time in ticks
	WarnGCList      WarningKind = "gc-list"      // gc.csv is cut off
	WarnOthers      WarningKind = "others"       // other processes used the CPUs
	WarnOwnLimit    WarningKind = "own-limit"    // the CPU limit of dyno's own control group stopped it
	WarnSteal       WarningKind = "steal"        // the hypervisor withheld CPUs
	WarnOOM         WarningKind = "oom"          // the kernel killed processes of the group
	WarnProfile     WarningKind = "profile"      // is missing, empty or partial
	WarnTraceLength WarningKind = "trace-length" // the window was shorter
	WarnSnapshot    WarningKind = "snapshot"     // of memory or goroutines, is missing
	WarnSeries      WarningKind = "series"       // are cut off, or stay CSV
	WarnPooled      WarningKind = "pooled"       // a histogram is missing
	WarnSlices      WarningKind = "slices"       // too few, or with few collections
	WarnSliceTrace  WarningKind = "slice-trace"  // the trace's cost is not in the difference
	WarnWatchEnded  WarningKind = "watch-ended"  // the process did
	WarnInterrupted WarningKind = "interrupted"
)

// The kinds of warnings of benchmarks.
const (
	WarnBenchCPUs WarningKind = "bench-cpus" // fewer than asked for
	WarnLeftOut   WarningKind = "left-out"   // not every setting has it
	WarnOutside   WarningKind = "outside"    // a revision is built with code that is in no revision
	WarnAlong     WarningKind = "along"      // of a program with another version of a dependency, more is different
	WarnLeft      WarningKind = "left"       // a revision is built without files that git does not have
	WarnLayout    WarningKind = "layout"     // one order of functions in all blocks
	WarnSurvey    WarningKind = "survey"     // failed, or is partial
	WarnSameCode  WarningKind = "same-code"  // it is not known which benchmarks cannot have changed
)

// The kinds of warnings of a whole run.
const (
	WarnPartial     WarningKind = "partial" // fewer trials than planned
	WarnNoTrial     WarningKind = "no-trial"
	WarnNoInterval  WarningKind = "no-interval" // too few blocks
	WarnSeparate    WarningKind = "separate"    // runs were not side by side
	WarnMixed       WarningKind = "mixed"       // several programs in one setting
	WarnRunsDiffer  WarningKind = "runs-differ"
	WarnOverridden  WarningKind = "overridden"    // a setting of the Go runtime did not take effect
	WarnNoEffect    WarningKind = "no-effect"     // settings differ in nothing that was read
	WarnOneProgram  WarningKind = "one-program"   // settings that differ only in the build have one
	WarnRunDir      WarningKind = "run-directory" // a part of it cannot be read
	WarnCauses      WarningKind = "causes"        // profiles cannot tell them
	WarnAttribution WarningKind = "attribution"   // of an execution trace, is missing
	WarnSlow        WarningKind = "why-slow"      // some traces do not say why requests are slow
	WarnTail        WarningKind = "tail"          // is left out
	WarnGrowth      WarningKind = "growth"        // a part of it is left out
	WarnSteady      WarningKind = "steadiness"    // is left out
	WarnPicture     WarningKind = "picture"       // over time, does not show all
)

func (w Warning) String() string { return w.Text }

// Is reports whether a warning of r is of a kind; older versions wrote none, and of theirs the text tells.
func (w Warning) Is(kind WarningKind, r *Result) bool {
	if w.Kind != "" {
		return w.Kind == kind
	}
	switch kind {
	case WarnSaturated:
		return r.Sent.Saturated != "" && strings.Contains(w.Text, r.Sent.Saturated)
	case WarnFailures:
		return strings.Contains(w.Text, " requests failed: ")
	}
	return false
}

// UnmarshalJSON also takes the plain string of older versions.
func (w *Warning) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*w = Warning{}
		return json.Unmarshal(data, &w.Text)
	}
	type plain Warning
	return json.Unmarshal(data, (*plain)(w))
}

// Warnings are the doubts about a trial or run, in the order of their discovery.
type Warnings []Warning

// Add appends a warning.
func (ws *Warnings) Add(kind WarningKind, format string, args ...any) {
	ws.AddOf(kind, "", format, args...)
}

// AddOf appends a warning about one of several things.
func (ws *Warnings) AddOf(kind WarningKind, of, format string, args ...any) {
	*ws = append(*ws, Warning{kind, of, fmt.Sprintf(format, args...)})
}

// Texts returns the sentences.
func (ws Warnings) Texts() []string {
	var texts []string
	for _, w := range ws {
		texts = append(texts, w.Text)
	}
	return texts
}
