package words

import (
	"fmt"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/report/layout"
)

// Resident says what resident memory consists of, in live heaps. left is what no part
// accounts for; name, " of " a setting or "".
func Resident(name string, e *dyno.Snapshot, left float64) string {
	in := func(x float64) string { return layout.Scale{Unit: "", Factor: 1, Decimals: 2}.Format(x / e.Live) }
	text := fmt.Sprintf("RSS%s is %s times its live heap: 1 is live, %s is dead and not yet collected, %s is free space that the heap keeps, ",
		name, in(e.RSS), in(e.Dead), in(e.Unused+e.Idle))
	files := in(e.File-e.Files) + " the program's file"
	most := ""
	if e.Files > e.Live/100 {
		files += ", " + in(e.Files) + " mapped files"
		most = fmt.Sprintf(" The largest of these is %s.", strings.Map(layout.Tamed, e.Largest))
	}
	own := e.Stacks + e.Metadata + e.Other
	if left < 0 {
		return text + fmt.Sprintf("%s is the resident part of the rest of the runtime, and %s.", in(own+left), files) + most
	}
	return text + fmt.Sprintf("%s is the rest of the runtime, %s, and %s is unknown to the runtime.", in(own), files, in(left)) + most
}
