package subject

import (
	"errors"
	"net"
	"regexp"
	"strings"
)

// A failure is the error of a subject that did not get ready, or ended by itself.
type failure struct {
	why   string // in one line
	cure  string // what helps a subject that is alone; "" if that is unknown or in why
	lines string // last of its stderr, as lastlines.Lines.String has them
	out   string // last of its stdout
	addr  string // free, chosen for it
	told  told
	mute  bool // that it wrote nothing is no news
	limit bool // it reached the memory limit of its own control group
}

func (f *failure) Error() string {
	text := f.why
	if f.cure != "" {
		text += " (consider: " + f.cure + ")"
	}
	if f.lines == "" && f.out == "" && !f.mute {
		text += " (it wrote nothing)"
	}
	// On lines of their own, so that the first says in short what was the matter.
	if f.lines != "" {
		text += "\nlast lines of its stderr:\n" + f.lines
	}
	if f.out != "" {
		text += "\nlast lines of its stdout:\n" + f.out
	}
	return text
}

// WhyNotBeside says in one line why a second instance of a service, for which [Start] returned err,
// did not get ready beside the first, and what would cure it. It is "" if the first cannot be the
// reason: err is nil, the plan's mistake, a program that cannot be executed, the end of the context,
// or the subject's own memory limit. Whether it would get ready alone has to be tried.
//
// Programs say in words of their own what they lack: it knows those of Go, the C library and some
// databases, and otherwise repeats the last line.
func WhyNotBeside(err error) string {
	var f *failure
	if !errors.As(err, &f) || f.limit {
		return ""
	}
	what, cure := f.why, ""
	lines := strings.Split(strings.Trim(f.out+"\n"+f.lines, "\n"), "\n")
	if line := first(lines, portTaken); line != "" {
		_, port, _ := net.SplitHostPort(f.addr)
		if regexp.MustCompile(`:` + port + `\b`).MatchString(line) {
			return "" // a third program took the port that was free
		}
		what, cure = line, "pass {{.Addr}} to the subject's arguments"
		if listen := listenFailed.FindString(line); listen != "" {
			what = listen
		}
		if f.told.port { // so it is another port
			cure = "port 0 for it, or no port"
		}
	} else if line := first(lines, locked); line != "" {
		what, cure = line, "{{.Dir}} as its data directory"
		if f.told.dir {
			cure = "{{.Dir}} for the locked file, too"
		}
	} else if !strings.Contains(what, "(consider: ") {
		cure = "{{.Addr}} or {{.Dir}} for shared resources"
		if last := lines[len(lines)-1]; last != "" {
			what += ": " + clean(last)
		}
	}
	if cure != "" {
		what += " (consider: " + cure + ")"
	}
	return "the second instance did not start beside the first: " + what
}

var (
	portTaken = regexp.MustCompile(`(?i)address already in use|EADDRINUSE|only one usage of each socket address|port \S* ?(is )?(already )?in use`)

	// EAGAIN of flock and fcntl; SQLite; Badger, Pebble, LevelDB, Prometheus; PostgreSQL and daemons.
	locked = regexp.MustCompile(`(?i)resource temporarily unavailable|\b(is|already|are) locked|(acquire|cannot|could not|failed to|unable to|can't) .{0,40}\block|\block (is )?held|lock ?file|pid ?file|already running|another (process|instance)|in use by`)

	listenFailed = regexp.MustCompile(`listen \w+ \S+: bind: address already in use`)
	logTime      = regexp.MustCompile(`^\d{4}[/-]\d\d[/-]\d\d[ T][0-9:.,]+(Z|[+-]\d\d:?\d\d)?\s+`)
)

// first is the first line that matches, clean.
func first(lines []string, p *regexp.Regexp) string {
	for _, line := range lines {
		if p.MatchString(line) {
			return clean(line)
		}
	}
	return ""
}

const cleanWidth = 200 // characters of a line

// clean cuts a line of a log to what matters.
func clean(line string) string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, logTime.FindString(line))
	if r := []rune(line); len(r) > cleanWidth {
		return string(r[:cleanWidth]) + "…"
	}
	return line
}
