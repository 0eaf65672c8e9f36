package how

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// Overridden says a line of each setting that did not take effect, those together that have the same instead.
func Overridden(os []dyno.Override) (lines []string) {
	asked, says, order := map[string][]string{}, map[string]string{}, []string{}
	for i := range os {
		o := &os[i]
		what, has := o.Name+"="+o.Asked, instead(o)
		key := o.Name + has
		if len(o.InForce) > 1 { // to another value in each launch
			key = fmt.Sprint(o.Name, o.Places)
		}
		if says[key] == "" {
			order, says[key] = append(order, key), has
		}
		if !slices.Contains(asked[key], what) {
			asked[key] = append(asked[key], what)
		}
	}
	for _, key := range order {
		slices.Sort(asked[key])
		lines = append(lines, fmt.Sprintf("%s did not take effect: %s", strings.Join(asked[key], " and "), says[key]))
	}
	return lines
}

// instead says what is in force instead.
func instead(o *dyno.Override) string {
	last := o.InForce[len(o.InForce)-1]
	has := last + " is in force"
	switch {
	case o.By == dyno.ByTrace && o.Name == "GOGC":
		has = "the goals of collections are those of about " + last
	case len(o.InForce) > 1:
		has = "it changed while the subject ran, such as to " + o.Other()
	case o.By == dyno.ByEnvironment:
		has = "the process that answers was started with " + last
	}
	var places []string
	for _, p := range o.Places {
		places = append(places, fmt.Sprintf("%s, %s:%d", p.What, p.File, p.Line))
	}
	if places != nil {
		has += " (" + strings.Join(places, "; or ") + ")"
	}
	return has
}
