package certify

import (
	"slices"
	"strings"
)

// An Identity is what a certificate is of. It expires where another is measured.
type Identity struct {
	Kernel  string `json:"kernel"`
	CPU     string `json:"cpu"` // model
	CPUs    int    `json:"cpus"`
	Subject string `json:"subject"` // Go version and revision
	Build   string `json:"build"`   // sum of the executable, as dyno.Result has it
	Start   string `json:"start"`   // sum of arguments, environment and limits
	Load    string `json:"load"`    // sum of what is sent by how many clients; how long is not in it
	Alone   bool   `json:"alone"`   // launches followed one another
}

// An Expiry is why a certificate does not hold for a run.
type Expiry string

const (
	OtherKernel  Expiry = "kernel"
	OtherCPU     Expiry = "cpu"     // model or number
	OtherService Expiry = "service" // its build, or how it is started
	OtherLoad    Expiry = "load"
	OtherTurns   Expiry = "turns" // side by side, or one after the other
)

// Expired lists why the certificate does not hold where now is measured; nil if it does. A run of
// several executables has one Identity for each: it is enough if one of them is the certificate's.
func (c *Certificate) Expired(now ...Identity) (why []Expiry) {
	differs := func(x Expiry, same func(Identity) bool) {
		if !slices.ContainsFunc(now, same) {
			why = append(why, x)
		}
	}
	differs(OtherKernel, func(i Identity) bool { return i.Kernel == c.Of.Kernel })
	differs(OtherCPU, func(i Identity) bool { return i.CPU == c.Of.CPU && i.CPUs == c.Of.CPUs })
	differs(OtherService, c.Of.sameService)
	differs(OtherLoad, func(i Identity) bool { return i.Load == c.Of.Load })
	differs(OtherTurns, func(i Identity) bool { return i.Alone == c.Of.Alone })
	return why
}

// sameService compares executables, or what they were built from where that is surely known: two
// checkouts of one commit give different bytes, as their paths are in them.
func (i Identity) sameService(o Identity) bool {
	_, rev, _ := strings.Cut(i.Subject, " ")
	clean := rev != "" && !strings.Contains(rev, "+dirty")
	return i.Start == o.Start && (i.Build == o.Build && i.Build != "" || clean && i.Subject == o.Subject)
}
