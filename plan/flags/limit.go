package flags

import (
	"fmt"
	"strings"

	"github.com/dynolab/dyno"
)

// limit sets the limits that are named; the file's others stay.
func limit(e *dyno.Experiment, v string) (err error) {
	given := map[string]bool{}
	for part := range strings.SplitSeq(v, ",") {
		name, amount, _ := strings.Cut(part, "=")
		if given[name] {
			return fmt.Errorf("limit %s is given twice (consider: --vary limit.%[1]s=a,b to compare them)", name)
		}
		given[name] = true
		switch name {
		case "cpu":
			e.Limits.CPU, err = dyno.ParseCPUs(amount)
		case "memory":
			e.Limits.Memory, err = dyno.ParseSize(amount)
		default:
			err = fmt.Errorf("bad limit %q (want for example cpu=0.5,memory=128MiB)", part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
