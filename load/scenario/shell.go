package scenario

import (
	"regexp"
	"strings"
)

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

// shellWord quotes what the shell would not take for one word as it is (POSIX, Shell Command
// Language, 2.2.2).
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// inQuotes reports whether a command has an argument within quotes.
func inQuotes(command, name string) bool {
	quote := rune(0)
	for i, r := range command {
		switch {
		case r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case quote != 0 && strings.HasPrefix(command[i:], "{{.arg."+name+"}}"):
			return true
		}
	}
	return false
}
