package plan

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
)

// readCompose reads the services of a file. Variables in it are those of the environment, or of a file .env beside it. A variable
// need not be set if only unwanted services refer to it.
func readCompose(file string) (map[string]*composed, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var raw struct{ Services map[string]any }
	if err := yaml.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	beside := map[string]string{}
	env, _ := os.ReadFile(filepath.Join(filepath.Dir(file), ".env"))
	for line := range strings.Lines(string(env)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && !strings.HasPrefix(key, "#") {
			beside[key] = strings.Trim(value, `"'`)
		}
	}
	look := func(name string) (string, bool) {
		if value, ok := os.LookupEnv(name); ok {
			return value, true
		}
		value, ok := beside[name]
		return value, ok
	}
	all := map[string]*composed{}
	for name, service := range raw.Services {
		s := new(composed)
		service, s.unset = interpolate(service, look)
		if text, err = yaml.Marshal(service); err == nil {
			err = yaml.Unmarshal(text, s)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: service %s: %w", file, name, err)
		}
		all[name] = s
	}
	return all, nil
}

// reference is $$, $NAME, ${NAME} or ${NAME:-default}: https://github.com/compose-spec/compose-spec/blob/main/12-interpolation.md.
var reference = regexp.MustCompile(`\$(?:(\$)|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:(:?[-?+])([^}]*))?\})`)

// interpolate replaces references to variables in all texts of a value. The error names one that is not set.
func interpolate(v any, look func(name string) (string, bool)) (_ any, err error) {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			var bad error
			v[key], bad = interpolate(v[key], look)
			err = cmp.Or(err, bad)
		}
	case []any:
		for i := range v {
			var bad error
			v[i], bad = interpolate(v[i], look)
			err = cmp.Or(err, bad)
		}
	case string:
		text := reference.ReplaceAllStringFunc(v, func(ref string) string {
			m := reference.FindStringSubmatch(ref)
			if m[1] != "" {
				return "$"
			}
			name, how, word := m[2]+m[3], m[4], m[5]
			value, ok := look(name)
			has := ok && (value != "" || !strings.HasPrefix(how, ":"))
			switch how = strings.TrimPrefix(how, ":"); {
			case how == "+" && has, how == "-" && !has:
				return word
			case how == "+":
				return ""
			case !ok && how != "-":
				err = fmt.Errorf("the variable %s is not set (consider: export %[1]s, or a line in .env)", name)
			}
			return value
		})
		return text, err
	}
	return v, err
}
