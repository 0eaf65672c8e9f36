package analysis

// A Growth is what grew in one trial: the evidence for a leak, or against it.
type Growth struct{}

// A Leak is the verdict on what grows in a setting.
type Leak struct{}
