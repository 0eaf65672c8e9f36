package dyno

import (
	"fmt"
	"strconv"
	"strings"
)

// More are blocks that were added to a run when its result was known, by dyno run --resume
// --more: their numbers follow After.
type More struct {
	After  int // blocks that the result was of
	Blocks int // that were added
}

// ParseMore reads "17+4", 4 blocks that were added after 17.
func ParseMore(s string) (m More, err error) {
	after, blocks, _ := strings.Cut(s, "+")
	m.After, err = strconv.Atoi(after)
	if err == nil {
		m.Blocks, err = strconv.Atoi(blocks)
	}
	if err != nil || m.After < 1 || m.Blocks < 1 {
		return m, fmt.Errorf("bad more %q (want for example 17+4: 4 blocks after 17)", s)
	}
	return m, nil
}

func (m More) String() string { return fmt.Sprintf("%d+%d", m.After, m.Blocks) }

// MarshalText is read by ParseMore.
func (m More) MarshalText() ([]byte, error) { return []byte(m.String()), nil }
