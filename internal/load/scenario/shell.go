package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/texts"
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
		t, err := texts.Parse("args", text, texts.NewNames(arg, nil))
		if err == nil {
			if s, ok := t.Fixed(); ok {
				args = append(args, s)
				continue
			}
			err = fmt.Errorf("args %q: only {{.arg.NAME}} has a value here", texts.Shorten(text))
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
		known := texts.NewNames(arg, nil)
		value, varies, after, err := known.Action(action)
		quoted := value
		if err == nil && varies {
			err = errors.New("only {{.arg.NAME}} has a value here")
		} else if err == nil && value != "{{" {
			quoted, err = at.quote(value)
		}
		if err != nil {
			return "", fmt.Errorf("command %q: %w", texts.Shorten(command), err)
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

// plainWord matches words that mean the same with and without quotes in all shells.
var plainWord = regexp.MustCompile(`^[\w.,:/@%+-]+$`)

// quote returns a value as it is written here.
func (s *shell) quote(value string) (string, error) {
	switch {
	case plainWord.MatchString(value) && (runtime.GOOS != "windows" || !strings.Contains(value, "%")):
		return value, nil
	case strings.ContainsRune(value, 0):
		return "", errors.New("a value has a zero byte")
	case runtime.GOOS == "windows":
		return "", fmt.Errorf("the value %q cannot be quoted for cmd (consider: a value of letters, digits and .,:/@+=-)", texts.Shorten(value))
	case s.nested || s.escaped:
		return "", fmt.Errorf("the value %q cannot be quoted after a substitution, a comment, a here-document or a backslash (consider: {{.arg.NAME}} before it)", texts.Shorten(value))
	case s.quote1:
		return strings.ReplaceAll(value, "'", `'\''`), nil
	case s.quote2:
		return doubleQuoted.Replace(value), nil
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'", nil
}

var doubleQuoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`")
