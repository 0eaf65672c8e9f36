//go:build unix

package scenario

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// A value is what the command gets, whatever is in it and wherever it stands; none is run.
func TestExpandCommandQuotes(t *testing.T) {
	for _, value := range []string{"10", "", "a b", "; echo run", "$(echo run)", "`echo run`", "it's", `say "x"`, `back\slash`, `end\`, "new\nline", "*", "#x", "{{.n}}", "-n", "$HOME"} {
		for _, command := range []string{`printf %s {{.arg.x}}`, `printf %s '{{.arg.x}}'`, `printf %s "{{.arg.x}}"`, `printf %s ""''{{ .arg.x }}''`} {
			expanded, err := ExpandCommand(&dyno.Load{Command: command}, map[string]string{"x": value})
			if err != nil {
				t.Errorf("%s with %q: %v", command, value, err)
				continue
			}
			out, err := exec.Command("sh", "-c", expanded).Output()
			if err != nil || string(out) != value {
				t.Errorf("%s with %q became %s, which got %q, %v", command, value, expanded, out, err)
			}
		}
	}
	for command, want := range map[string]string{
		"hey -n {{.arg.n}} -c {{.arg.n}} $DYNO_URL/x": "hey -n 2000 -c 2000 $DYNO_URL/x",
		`echo "$(cat {{.arg.n}})"`:                    `echo "$(cat 2000)"`,
		`echo {{"{{"}}`:                               "echo {{",
		`x '{{.arg.bad}}`:                             `x '; rm`,
		`x "$(cat {{.arg.bad}})"`:                     "error: after a substitution",
		"x <<E\n{{.arg.bad}}\nE":                      "error: after a substitution",
		"x `{{.arg.bad}}`":                            "error: after a substitution",
		"x # {{.arg.bad}}":                            "error: a comment",
		"x $'{{.arg.bad}}'":                           "error: after a substitution",
		`x ${DYNO_URL}/#{{.arg.bad}}`:                 `x ${DYNO_URL}/#'; rm'`,
		`x \{{.arg.bad}}`:                             "error: or a backslash",
		"x {{.n}}":                                    "error: only {{.arg.NAME}} has a value",
		"x {{.arg.none}}":                             "error: unknown variable arg.none (known: arg.bad, arg.n, client, n)",
	} {
		got, err := ExpandCommand(&dyno.Load{Command: command}, map[string]string{"n": "2000", "bad": "; rm"})
		if wrong, ok := strings.CutPrefix(want, "error: "); ok {
			if err == nil || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%s: %q, %v; want an error with %q", command, got, err, wrong)
			}
		} else if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", command, got, err, want)
		}
	}
}
