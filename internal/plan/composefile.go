package plan

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
)

// readCompose reads the services of a file. Variables in it are those of the environment, or of a file .env beside it.
func readCompose(file string) (map[string]*composed, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var raw any
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
	raw, err = interpolate(raw, func(name string) (string, bool) {
		if value, ok := os.LookupEnv(name); ok {
			return value, true
		}
		value, ok := beside[name]
		return value, ok
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if text, err = yaml.Marshal(raw); err != nil {
		return nil, err
	}
	var all struct{ Services map[string]*composed }
	if err := yaml.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	maps.DeleteFunc(all.Services, func(_ string, s *composed) bool { return s == nil })
	return all.Services, nil
}

// reference is $$, $NAME, ${NAME} or ${NAME:-default}: https://github.com/compose-spec/compose-spec/blob/main/12-interpolation.md.
var reference = regexp.MustCompile(`\$(?:(\$)|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:(:?[-?+])([^}]*))?\})`)

// interpolate replaces references to variables in all texts of a value.
func interpolate(v any, look func(name string) (string, bool)) (_ any, err error) {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			if v[key], err = interpolate(v[key], look); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range v {
			if v[i], err = interpolate(v[i], look); err != nil {
				return nil, err
			}
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
	return v, nil
}
