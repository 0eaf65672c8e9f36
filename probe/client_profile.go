package probe

import (
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

const (
	profileTime = time.Minute // for one profile, a collection of a large heap included
	profileMost = 256 << 20   // bytes of one profile
)

// profileClient returns a client that has the time and the room for profiles.
func profileClient(socket string) *client {
	return &client{socket: socket, time: profileTime, most: profileMost}
}

// profile sends a command that is answered with a profile.
func (c *client) profile(command string) (*profile.Profile, error) {
	data, err := c.ask(command)
	if err != nil {
		return nil, err
	}
	return profile.ParseData(data)
}

// dropOwn leaves out what the injected probe and the CPU profile's writer did,
// such as to allocate the profile itself.
func dropOwn(p *profile.Profile) {
	own := func(line profile.Line) bool {
		f := line.Function
		return f != nil && (strings.Contains(f.Name, ".dynoProbe") || strings.Contains(f.Name, ".(*dynoProbe") || f.Name == "runtime/pprof.profileWriter")
	}
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return slices.ContainsFunc(s.Location, func(l *profile.Location) bool { return slices.ContainsFunc(l.Line, own) })
	})
}
