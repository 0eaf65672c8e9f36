package dyno

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
)

// A Client is what each client of the load does: Setup once, Loop again and
// again, Teardown once. Each client has its own variables and cookies.
type Client struct {
	Setup    []Step `json:"setup,omitempty"`
	Loop     []Step `json:"loop,omitempty"`
	Teardown []Step `json:"teardown,omitempty"`
}

// A Step is one request of a client, several at the same time (Parallel), or a rest
// (Sleep). Path, header values and Body are templates: {{.NAME}} is a captured value,
// {{.n}} the client's count of loops from 0, {{.client}} its number from 0, {{.arg.NAME}}
// a value of the plan, {{.NAME.COLUMN}} a field of the loop's row of data, {{counter}} the
// load's next whole number from 0, {{uuid}} a random UUID, {{random LO HI}} a random whole
// number; what is random depends on the seed alone.
type Step struct {
	Name     string            `json:"name,omitempty"`   // "" means method and path
	Method   string            `json:"method,omitempty"` // "" means GET
	Path     string            `json:"path,omitempty"`   // with a leading slash; a query may follow
	Headers  map[string]string `json:"headers,omitempty"`
	Body     string            `json:"body,omitempty"`
	BodyFile string            `json:"body_file,omitempty"` // sent as it is, instead of Body
	Expect   []int             `json:"expect,omitempty"`    // statuses that are success; none means below 400, and 101 only with an Upgrade header
	Capture  map[string]string `json:"capture,omitempty"`   // name → jq expression on a JSON body, "header:NAME" or "cookie:NAME"
	Measure  *bool             `json:"measure,omitempty"`   // nil: steps of the loop are, others are not
	Parallel Parallel          `json:"parallel,omitzero"`   // requests at the same time; the client goes on when all are answered
	Sleep    Sleep             `json:"sleep,omitzero"`      // a rest of the client; the step has nothing else
}

// A Parallel is a number of requests, all the step's own, or a list of other steps. The
// zero value is one request.
type Parallel struct {
	Times int
	Steps []Step
}

// MarshalJSON implements json.Marshaler.
func (p Parallel) MarshalJSON() ([]byte, error) {
	if len(p.Steps) > 0 {
		return json.Marshal(p.Steps)
	}
	return json.Marshal(p.Times)
}

// A Sleep is a random rest from Min to Max, evenly distributed: "1s" or "500ms..1.5s".
type Sleep struct{ Min, Max Duration }

// ParseSleep reads a duration or two, the least and the longest.
func ParseSleep(s string) (Sleep, error) {
	from, to, ok := strings.Cut(s, "..")
	if !ok {
		to = from
	}
	least, err1 := ParseDuration(from)
	most, err2 := ParseDuration(to)
	if err1 != nil || err2 != nil || most < least || most == 0 {
		return Sleep{}, fmt.Errorf("bad sleep %q (want for example 1s or 500ms..1.5s)", s)
	}
	return Sleep{least, most}, nil
}

func (s Sleep) String() string {
	if s.Min == s.Max {
		return s.Max.String()
	}
	return s.Min.String() + ".." + s.Max.String()
}

// MarshalText implements encoding.TextMarshaler.
func (s Sleep) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Label is the step's name, or its method and path.
func (s *Step) Label() string {
	return cmp.Or(s.Name, s.Verb()+" "+s.Path)
}

// Verb is the step's method, GET where it says none.
func (s *Step) Verb() string {
	switch {
	case s.Method != "":
		return s.Method
	case s.Body != "" || s.BodyFile != "":
		return "POST"
	}
	return "GET"
}

// Requests yields the steps that are requests, of parallel lists too.
func (c *Client) Requests() iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		for _, steps := range [][]Step{c.Setup, c.Loop, c.Teardown} {
			for i := range steps {
				for _, s := range steps[i].Requests() {
					if !yield(s) {
						return
					}
				}
			}
		}
	}
}

// Requests are the step itself or its parallel steps; a rest has none.
func (s *Step) Requests() []*Step {
	if s.Sleep != (Sleep{}) {
		return nil
	}
	if len(s.Parallel.Steps) == 0 {
		return []*Step{s}
	}
	var list []*Step
	for i := range s.Parallel.Steps {
		list = append(list, &s.Parallel.Steps[i])
	}
	return list
}

func (s *Step) single() bool {
	return s.Sleep == Sleep{} && s.Parallel.Times == 0 && len(s.Parallel.Steps) == 0
}
