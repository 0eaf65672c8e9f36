package html

import (
	"encoding/base64"
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestModules checks that a file has every module that a module names.
func TestModules(t *testing.T) {
	var m struct{ Imports map[string]string }
	if err := json.Unmarshal([]byte(moduleMap()), &m); err != nil {
		t.Fatal(err)
	}
	if m.Imports["dyno/"+entry] == "" {
		t.Errorf("the map is of %v", m.Imports)
	}
	for name, url := range m.Imports {
		text, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(url, "data:text/javascript;base64,"))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?m)^\s*(?:import|export)\b[^;]*?from\s*["']([^"']+)["']`).FindAllSubmatch(text, -1) {
			if m.Imports[string(found[1])] == "" {
				t.Errorf("%s imports %q, which is not in the map", name, found[1])
			}
		}
		if path.Dir(name) != "dyno" {
			t.Errorf("a module is called %q", name)
		}
	}
	for text, want := range map[string]string{
		`import { a } from "./scale.js";`:      `import { a } from "dyno/scale.js";`,
		`import './scale.js';`:                 `import 'dyno/scale.js';`,
		`export * from "./a-b.js"`:             `export * from "dyno/a-b.js"`,
		`const m = await import("./live.js");`: `const m = await import("dyno/live.js");`,
		`// from "./no/scale.js"`:              `// from "./no/scale.js"`,
	} {
		if got := imported.ReplaceAllString(text, "${1}${2}dyno/${3}${4}"); got != want {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// TestIsland: whatever a service calls its steps, the element that holds them ends
// where it should, and holds what it was given.
func TestIsland(t *testing.T) {
	for _, step := range []string{"</script><script>alert(1)</script>", "<!--<script>", "]]>", "a\u2028b", "<\x00\"'&"} {
		data, err := json.Marshal(map[string]string{"step": step})
		if err != nil {
			t.Fatal(err)
		}
		// An encoder may leave < as it is.
		text := string(islandOf([]byte(strings.ReplaceAll(string(data), `\u003c`, "<"))))
		rest, ok := strings.CutPrefix(text, `<script type="application/json" id="picture">`)
		inside, ends := strings.CutSuffix(rest, "</script>\n")
		if !ok || !ends || strings.Contains(inside, "<") {
			t.Fatalf("%q: the island is %q", step, text)
		}
		var want, got map[string]string
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(inside), &got); err != nil || got["step"] != want["step"] {
			t.Errorf("%q: the island holds something else (%v)", step, err)
		}
	}
	if text := islandOf([]byte("{")); text != "" {
		t.Errorf("what is no JSON is in the page: %s", text)
	}
}
