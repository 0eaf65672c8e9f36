package html

import (
	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/timeline"
	"github.com/dynolab/dyno/internal/report/profile"
	"github.com/dynolab/dyno/internal/report/tables"
)

// A Page is one run as the HTML report shows it. Each part but the table may be
// missing.
type Page struct {
	tables.Report
	Origin  findings.Origin
	Picture *timeline.Picture
	Trials  []*dyno.Result   // all that have a result, failed ones and those for looks included
	Profile *profile.Profile // tables of what profiles tell; nil if none was taken
	Flames  []Flame          // the most telling first
	Notes   []string         // what could not be shown, and why
	Site    *Site            // nil in a file
}

// A Flame is a page of pprof's own: the flame graph of one setting's profiles,
// or of their difference to the baseline's.
type Flame struct {
	Kind    string // of dyno.ProfileNames
	Setting string
	Base    string // "" for the setting alone
	HTML    []byte // of the file, which needs no server; nil in a served page, which has URL
	URL     string
}

// A Site is what a served page has beyond a file: links, and where scripts ask
// for more.
type Site struct {
	Home   string // URL of the list of runs
	Assets string // URL of the folder of Assets, with a final slash
	Detail string // URL that answers with a picture of a part: ?from=&to= in seconds of the axis, &columns=
	Live   string // URL of server-sent events; "" once the run is over
	Token  string // of forms that change something
	Files  []File // of the run directory, to look at or to save
	Others []File // other settings as a baseline, other runs to compare with
}

// A File is a link.
type File struct{ Name, URL string }
