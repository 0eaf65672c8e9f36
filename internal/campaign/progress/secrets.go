package progress

import (
	"fmt"
	"os"

	"golang.org/x/term"
)

// Secrets gets what run directories do not hold from the environment, or asks on the terminal.
func Secrets(names []string) (map[string]string, error) {
	values := map[string]string{}
	for _, name := range names {
		variable, stdin := "DYNO_SECRET_"+name, int(os.Stdin.Fd())
		value, ok := os.LookupEnv(variable)
		if !ok && !term.IsTerminal(stdin) {
			return nil, fmt.Errorf("run directories hold no secrets, and %s is not set (want the value that the plan had for redacted~%s~)", variable, name)
		}
		if !ok {
			fmt.Fprintf(os.Stderr, "%s: ", variable)
			text, err := term.ReadPassword(stdin)
			if fmt.Fprintln(os.Stderr); err != nil {
				return nil, fmt.Errorf("ask for %s: %w", variable, err)
			}
			value = string(text)
		}
		values[name] = value
	}
	return values, nil
}
