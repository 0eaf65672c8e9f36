package stats

// A Reason says why the shape of a series is unclear. The zero value means no reason.
type Reason struct {
	Kind  ReasonKind
	N, Of int       // of FewReadings and FewFalls: N were seen, and it takes Of
	Falls bool      // of LessAtEnd, TooLittle and JumpsBack: the series falls, rather than grows
	At    float64   // of GoesOn: seconds of the step
	In    []Stretch // the part of the series that cannot tell, the outermost first; nil means all of it
}

// A ReasonKind is a case of [Reason].
type ReasonKind string

const (
	FewReadings ReasonKind = "few-readings"
	OneTime     ReasonKind = "one-time"    // nearly all readings were taken at once
	TooLarge    ReasonKind = "too-large"   // to compute with
	FewFalls    ReasonKind = "few-falls"   // of a saw, to compare its lows
	LessAtEnd   ReasonKind = "less-at-end" // it may be flattening
	TooLittle   ReasonKind = "too-little"  // for its noise and length
	JumpsBack   ReasonKind = "jumps-back"  // at one end
	SawGrows    ReasonKind = "saw-grows"   // its lows grow, but too little or too few
	GoesOn      ReasonKind = "goes-on"     // it grows or falls but for a step
	PartGrows   ReasonKind = "part-grows"  // the stretch In grows
)

// A Stretch is the part of a series on one side of a change.
type Stretch struct {
	Side StretchSide
	At   float64 // seconds, of the change
}

// A StretchSide says on which side of which change a stretch lies.
type StretchSide string

const (
	BeforeStep StretchSide = "before-step"
	AfterStep  StretchSide = "after-step"
	AfterSlow  StretchSide = "after-slow" // after the growth slowed
)
