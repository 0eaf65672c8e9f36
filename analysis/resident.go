package analysis

// A Resident is where the resident memory of a setting is, and whether it is given
// back after the load.
type Resident struct{}
