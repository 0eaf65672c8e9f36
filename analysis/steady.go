package analysis

// A Steadiness is whether response times of one trial stayed as they were.
type Steadiness struct{}

// A Steady is the verdict on the response times of a setting over its trials.
type Steady struct{}
