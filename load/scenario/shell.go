package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
)

// ExpandCommand returns the command line of another generator's load. Values are quoted for the
// shell, so that one that varies, or is a stranger's, is always a word or a part of one and never
// a command. A mistake is a [*dyno.PlanError].
func ExpandCommand(l *dyno.Load, arg map[string]string) (string, error) {
	command, err := expandCommand(l.Command, arg)
	if err != nil {
		return "", &dyno.PlanError{Msg: "load " + err.Error(), Key: []string{"load", "command"}}
	}
	return command, nil
}

// ExpandArgs returns the arguments of a load's program. A mistake is a [*dyno.PlanError].
func ExpandArgs(l *dyno.Load, arg map[string]string) (args []string, err error) {
	for i, text := range l.Args {
		t, err := parseText("args", text, newNames(arg, nil))
		if err == nil {
			if s, ok := t.fixed(); ok {
				args = append(args, s)
				continue
			}
			err = fmt.Errorf("args %q: only {{.arg.NAME}} has a value here", shorten(text))
		}
		return nil, &dyno.PlanError{Msg: "load " + err.Error(), Key: []string{"load", "args", strconv.Itoa(i)}}
	}
	return args, nil
}

func expandCommand(command string, arg map[string]string) (string, error) {
	var b strings.Builder
	var at shell
	for rest := command; ; {
		before, action, ok := strings.Cut(rest, "{{")
		b.WriteString(before)
		at.read(before)
		if !ok {
			return b.String(), nil
		}
		p, after, err := newNames(arg, nil).parseAction(action)
		if unknown := (*UnknownError)(nil); errors.As(err, &unknown) {
			err = fmt.Errorf("%w (known: %s)", err, newNames(arg, nil).list())
		}
		quoted := p.literal
		if err == nil && p.value != nil {
			err = errors.New("only {{.arg.NAME}} has a value here")
		} else if err == nil && p.literal != "{{" {
			quoted, err = at.quote(p.literal)
		}
		if err != nil {
			return "", fmt.Errorf("command %q: %w", shorten(command), err)
		}
		b.WriteString(quoted)
		at.read(quoted)
		rest = after
	}
}

// A shell knows between which quotes a command line is by now (POSIX, Shell Command Language, 2.2).
type shell struct {
	quote1, quote2 bool // single, double
	escaped        bool // by a backslash
	nested         bool // there was a substitution, a comment or a here-document, which have quotes of their own
	last           rune
}

func (s *shell) read(text string) {
	for _, c := range parameter.ReplaceAllString(text, "x") {
		switch {
		case s.escaped:
			s.escaped = false
		case s.quote1:
			s.quote1 = c != '\''
		case c == '\\':
			s.escaped = true
		case c == '"':
			s.quote2 = !s.quote2
		case c == '\'' && !s.quote2:
			s.quote1, s.nested = true, s.nested || s.last == '$'
		case c == '`', s.last == '$' && (c == '(' || c == '{'), !s.quote2 && (c == '<' && s.last == '<' || c == '#' && !wordPart.MatchString(string(s.last))):
			s.nested = true
		}
		s.last = c
	}
}

var (
	parameter = regexp.MustCompile(`\$\{\w+\}`)
	wordPart  = regexp.MustCompile(`[^\s;&|()\x00]`) // before #
)

// plainWord is what means the same with quotes and without them, to all shells.
var plainWord = regexp.MustCompile(`^[\w.,:/@%+-]+$`)

// quote returns a value as it is written here.
func (s *shell) quote(value string) (string, error) {
	switch {
	case plainWord.MatchString(value) && (runtime.GOOS != "windows" || !strings.Contains(value, "%")):
		return value, nil
	case strings.ContainsRune(value, 0):
		return "", errors.New("a value has a zero byte")
	case runtime.GOOS == "windows":
		return "", fmt.Errorf("the value %q cannot be quoted for cmd (consider: a value of letters, digits and .,:/@+=-)", shorten(value))
	case s.nested || s.escaped:
		return "", fmt.Errorf("the value %q cannot be quoted after a substitution, a comment, a here-document or a backslash (consider: {{.arg.NAME}} before it)", shorten(value))
	case s.quote1:
		return strings.ReplaceAll(value, "'", `'\''`), nil
	case s.quote2:
		return doubleQuoted.Replace(value), nil
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'", nil
}

var doubleQuoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`")
