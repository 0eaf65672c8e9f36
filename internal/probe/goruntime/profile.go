package goruntime

import (
	"bytes"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Profile asks for a profile.
func (c *Client) Profile(command string) (*profile.Profile, error) {
	data, err := c.Ask(command)
	if err != nil {
		return nil, err
	}
	return profile.ParseData(data)
}

// Encode returns a profile's file, gzipped, without samples of the injected probe and of the
// CPU profile's writer.
func Encode(p *profile.Profile) ([]byte, error) {
	own := func(line profile.Line) bool {
		f := line.Function
		return f != nil && (strings.Contains(f.Name, ".dynoProbe") || strings.Contains(f.Name, ".(*dynoProbe") || f.Name == "runtime/pprof.profileWriter")
	}
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return slices.ContainsFunc(s.Location, func(l *profile.Location) bool { return slices.ContainsFunc(l.Line, own) })
	})
	var b bytes.Buffer
	err := p.Write(&b)
	return b.Bytes(), err
}
