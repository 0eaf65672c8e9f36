package dyno

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Need is a server that the subject uses: a database, a cache, another service. dyno starts it before the
// subject, hands its address over, and books what it uses. One of Postgres, Redis, NATS, MySQL,
// Package, Command, URL and Image is set; Image may be beside a kind of server, whose program it then has.
type Need struct {
	Postgres *Server  `json:"postgres,omitempty"`
	Redis    *Server  `json:"redis,omitempty"`
	NATS     *Server  `json:"nats,omitempty"`
	MySQL    *Server  `json:"mysql,omitempty"`   // or a MariaDB, where that is installed
	Package  string   `json:"package,omitempty"` // directory of a main package
	Command  []string `json:"command,omitempty"` // a program and its arguments; templates
	URL      string   `json:"url,omitempty"`     // of a server that runs already
	PID      int      `json:"pid,omitempty"`     // of its first process, where that is known; of a watched service this alone says what a need is

	Image        string            `json:"image,omitempty"`         // of a container
	Port         int               `json:"port,omitempty"`          // of Image alone, where it serves; 0 means that its Args or Env have {{.Port}}
	Mounts       []string          `json:"mounts,omitempty"`        // of Image alone: files and directories that it reads, as FROM:TO
	OrInstalled  bool              `json:"or_installed,omitempty"`  // without containers, an installed program may stand for Image
	Args         []string          `json:"args,omitempty"`          // of Package and Image; templates, as the subject's
	Env          map[string]string `json:"env,omitempty"`           // of Package, Command and Image; templates, too
	Rev          string            `json:"rev,omitempty"`           // git revision of Package; "" means the working tree
	Ready        string            `json:"ready,omitempty"`         // of Package, Command and Image: a path such as /healthz; "" and ReadyTCP mean that its port accepts connections
	ReadyLog     string            `json:"ready_log,omitempty"`     // likewise: a part of a line that it writes when it is ready
	ReadyCommand []string          `json:"ready_command,omitempty"` // likewise: a command that succeeds when it is ready; templates; of Image a command in the container
	ReadyTimeout Duration          `json:"ready_timeout,omitempty"` // 0 means DefaultReadyTimeout
	Fill         []string          `json:"fill,omitempty"`          // command that fills a new server after its seed, run once; templates
	Reset        []string          `json:"reset,omitempty"`         // command that brings a server back to its first state, run before each launch of the subject; templates
	Per          string            `json:"per,omitempty"`           // PerLaunch, PerBlock or PerRun; "" means PerLaunch
	User         string            `json:"user,omitempty"`          // runs the server where dyno is root; "" means one with few rights
	Delay        Duration          `json:"delay,omitempty"`         // that a relay adds to each message to it; 0 means no relay, unless it varies
	Drop         *Fraction         `json:"drop,omitempty"`          // of messages to it at which the relay breaks the connection
	Relayed      bool              `json:"-"`                       // of a trial: delay or drop varies, so that all settings have the relay
}

// A Server says how a server of a known kind is run.
type Server struct {
	Seed    []string `json:"seed,omitempty"`    // files of what it has in the beginning
	Args    []string `json:"args,omitempty"`    // added to its command line
	Version string   `json:"version,omitempty"` // the major one, such as 15; "" means the newest that is installed
}

// ReadyTCP, as Need.Ready, says that a port that accepts connections is enough.
const ReadyTCP = "tcp"

// How long a need lives.
const (
	PerLaunch = "launch" // each launch of the subject has its own
	PerBlock  = "block"  // one for the settings of a block, each with its own database or key prefix
	PerRun    = "run"    // one for all
)

// Kind is "postgres", "redis", "nats", "mysql", "package", "command", "image" or "url", and Server is nil for the last four.
func (n *Need) Kind() (kind string, server *Server) {
	switch {
	case n.Postgres != nil:
		return "postgres", n.Postgres
	case n.Redis != nil:
		return "redis", n.Redis
	case n.NATS != nil:
		return "nats", n.NATS
	case n.MySQL != nil:
		return "mysql", n.MySQL
	case n.Package != "":
		return "package", nil
	case len(n.Command) > 0:
		return "command", nil
	case n.Image != "":
		return "image", nil
	}
	return "url", nil // of a watched service perhaps only a PID
}

// ServerKinds are those of servers that dyno knows.
var ServerKinds = []string{"postgres", "redis", "nats", "mysql"}

// Serve makes the need one of ServerKinds.
func (n *Need) Serve(kind string, s *Server) {
	switch kind {
	case "postgres":
		n.Postgres = s
	case "redis":
		n.Redis = s
	case "nats":
		n.NATS = s
	case "mysql":
		n.MySQL = s
	}
}

// Drops is Drop with its default, 0.
func (n *Need) Drops() float64 {
	if n.Drop == nil {
		return 0
	}
	return float64(*n.Drop)
}

// Lives is Per with its default.
func (n *Need) Lives() string { return cmp.Or(n.Per, PerLaunch) }

// Books reports whether what the need uses can be told from what it does for other settings.
func (n *Need) Books() bool { return n.PID == 0 && n.URL == "" && n.Lives() == PerLaunch }

var needUse = regexp.MustCompile(`\.needs\.([A-Za-z_][A-Za-z0-9_]*)`)

// NeedsIn returns the needs whose address a template has.
func NeedsIn(texts ...string) (names []string) {
	for _, text := range texts {
		for _, m := range needUse.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(names, m[1]) {
				names = append(names, m[1])
			}
		}
	}
	return names
}

// Uses are the needs whose address this one's own templates have.
func (n *Need) Uses() []string {
	return NeedsIn(slices.Concat(n.Command, n.Args, n.Reset, n.ReadyCommand, slices.Sorted(maps.Values(n.Env)))...)
}

// NeedsInOrder lists the names of needs so that each comes after those that it uses. The error names a need that
// uses itself, perhaps over others, or one that is not there.
func NeedsInOrder(needs map[string]Need) (order []string, err *PlanError) {
	var path []string
	var visit func(name string) *PlanError
	visit = func(name string) *PlanError {
		if i := slices.Index(path, name); i >= 0 {
			return PlanErrorf("needs wait for each other: %s (want one that can start first)", strings.Join(append(path[i:], name), " → ")).Of("needs", name)
		}
		if slices.Contains(order, name) {
			return nil
		}
		path = append(path, name)
		need := needs[name]
		for _, used := range need.Uses() {
			if _, ok := needs[used]; !ok {
				return PlanErrorf("need %s uses {{.needs.%s}}, which is not there (%s)", name, used, WantNeed(needs, used)).Of("needs", name)
			}
			if err := visit(used); err != nil {
				return err
			}
		}
		path = path[:len(path)-1]
		order = append(order, name)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		if err := visit(name); err != nil {
			return nil, err
		}
	}
	return order, nil
}

// WantNeed says what was meant by the name of a need that is not there, or how one is made.
func WantNeed(needs map[string]Need, name string) string {
	if near := Nearest(name, slices.Sorted(maps.Keys(needs))); near != "" {
		return "did you mean " + near + "?"
	}
	return "consider: needs: {" + name + ": {postgres: {}}}"
}

// Uses are the needs whose address the subject's templates have.
func (s *Subject) Uses() []string {
	return NeedsIn(slices.Concat(s.Args, []string{s.Addr}, slices.Sorted(maps.Values(s.Env)), slices.Sorted(maps.Values(s.Files)))...)
}

const needKeys = "delay, drop, args, seed, rev, version, image or env.VARIABLE"

// applyNeed sets what a level needs.NAME.KEY says.
func (t *Trial) applyNeed(factor, value string) error {
	name, key, _ := strings.Cut(factor, ".")
	need, ok := t.Subject.Needs[name]
	if !ok {
		return fmt.Errorf("there is no need %s (%s)", name, WantNeed(t.Subject.Needs, name))
	}
	kind, server := need.Kind()
	if server != nil { // the plan's own stays as it is
		copied := *server
		server = &copied
		need.Serve(kind, server)
	}
	var err error
	variable, isVariable := strings.CutPrefix(key, "env.")
	switch {
	case key == "delay":
		need.Relayed = true
		need.Delay, err = ParseDuration(value)
	case key == "drop":
		var drop Fraction
		need.Relayed = true
		drop, err = ParseFraction(value)
		need.Drop = &drop
	case key == "args" && server != nil:
		var args []string
		args, err = SplitFlags(value)
		server.Args = slices.Concat(server.Args, args)
	case key == "image" && need.Image != "":
		need.Image, need.OrInstalled = value, false // else two levels may be one program
	case key == "args" && (kind == "package" || kind == "image"):
		var args []string
		args, err = SplitFlags(value)
		need.Args = slices.Concat(need.Args, args)
	case key == "seed" && server != nil:
		server.Seed = nil
		for _, file := range strings.Fields(value) {
			if !filepath.IsAbs(file) {
				file = filepath.Join(t.Subject.Dir, file)
			}
			server.Seed = append(server.Seed, file)
		}
	case key == "version" && server != nil:
		server.Version = value
	case key == "rev" && kind == "package":
		if need.Rev = value; value == "." {
			need.Rev = ""
		}
	case isVariable && IsName(variable) && slices.Contains([]string{"package", "command", "image"}, kind):
		need.Env = with(need.Env, variable, value)
	default:
		return fmt.Errorf("a need that is %s %s has no %q to vary (want %s)", article(kind), kind, key, needKeys)
	}
	if err != nil {
		return err
	}
	needs := maps.Clone(t.Subject.Needs)
	needs[name] = need
	t.Subject.Needs = needs
	return nil
}

func article(kind string) string {
	if kind == "image" || kind == "url" {
		return "an"
	}
	return "a"
}

// needMetrics are those of [Metrics] that each need has, with its name before them: db-cpu-sec/req.
var needMetrics = []string{"cpu-sec/req", "cpu-frac", "rest-cpu-frac", "rss-peak-B", "statements/req", "server-sec/req", "rows/req", "temp-B/req", "new-connections/req", "connections"}

// NeedOf splits the metric of a need into the need's name and the metric's; need is "" for others.
func NeedOf(metric string) (need, rest string) {
	if _, ok := indices[metric]; ok {
		return "", metric
	}
	for _, m := range needMetrics {
		if name, ok := strings.CutSuffix(metric, "-"+m); ok && IsName(name) {
			return name, m
		}
	}
	return "", metric
}

// A Statement is what a need did of one kind in the window: an SQL statement without its values, a command of Redis.
type Statement struct {
	Need  string  `json:"need"`
	Text  string  `json:"text,omitempty"` // "" stands for all that are not listed
	Calls float64 `json:"calls"`
	Sec   float64 `json:"sec,omitempty"`  // from its start to its end in the server; 0 if unknown
	Rows  float64 `json:"rows,omitempty"` // returned or changed
}

// Statements are those of a trial.
type Statements []Statement

// Find returns the statement of a need with this text. It is not found if there was none, or if it is among those
// that are not listed.
func (ss Statements) Find(need, text string) (s Statement, found bool) {
	for _, s := range ss {
		if s.Need == need && s.Text == text {
			return s, true
		}
	}
	return Statement{Need: need, Text: text}, false
}
