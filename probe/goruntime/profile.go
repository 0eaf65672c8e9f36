package goruntime

import (
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

const (
	ProfileTime = time.Minute // for one profile, a collection of a large heap included
	ProfileMost = 256 << 20   // bytes of one profile
)

// ProfileClient returns a client that has the time and the room for profiles.
func ProfileClient(socket string) *Client {
	return &Client{Socket: socket, Time: ProfileTime, Most: ProfileMost}
}

// Profile sends a command that is answered with a profile.
func (c *Client) Profile(command string) (*profile.Profile, error) {
	data, err := c.Ask(command)
	if err != nil {
		return nil, err
	}
	return profile.ParseData(data)
}

// DropOwn leaves out what the injected probe and the CPU profile's writer did,
// such as to allocate the profile itself.
func DropOwn(p *profile.Profile) {
	own := func(line profile.Line) bool {
		f := line.Function
		return f != nil && (strings.Contains(f.Name, ".dynoProbe") || strings.Contains(f.Name, ".(*dynoProbe") || f.Name == "runtime/pprof.profileWriter")
	}
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return slices.ContainsFunc(s.Location, func(l *profile.Location) bool { return slices.ContainsFunc(l.Line, own) })
	})
}
