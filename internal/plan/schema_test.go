package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("dyno.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("dyno.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// inEditor is what an editor says of a plan.
func inEditor(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return err
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(instance)
}

// The schema accepts every plan that there is: those of the examples, and the one of dyno init.
func TestSchemaAccepts(t *testing.T) {
	s := compiled(t)
	var files []string
	for _, pattern := range []string{"../../examples/*/*.yaml", "../../examples/*/demo/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 10 {
		t.Fatalf("%d plans", len(files))
	}
	for _, file := range append(files, "../../cmd/dyno/plans/init.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(file) == "study.yaml" {
			continue
		}
		if err := inEditor(t, s, strings.NewReplacer("<<.Package>>", "./x", "<<.Name>>", "x").Replace(string(text))); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// Mistakes that the parser finds by themselves are those of an editor, too.
func TestSchemaFindsMistakes(t *testing.T) {
	s := compiled(t)
	for _, text := range []string{
		"subjct: {package: .}",
		"subject: {packge: .}",
		"subject: [./server]",
		"subject: {inject: perhaps}",
		"subject: {ready_timeout: soon}",
		"subject: {env: [A=b]}",
		"subject: {limit: 3}",
		"vary: [GOGC]",
		"vary: {GOGC: {a: 1}}",
		"settings: {GOGC: 1}",
		"load: {concurency: 3}",
		"load: {concurrency: many}",
		"load: {concurrency: 0}",
		"load: {duration: 3 seconds}",
		"load: {duration: 10}",
		"load: {rate: fast}",
		"load: {expect: {status: 99}}",
		"load: {client: {loop: [{pth: /}]}}",
		"load: {client: {loop: [GET]}}",
		"load: {client: {loop: [{path: /, parallel: none}]}}",
		"load: {client: {loop: [{sleep: a while}]}}",
		"load: {max_failures: few}",
		"thresholds: [p99]",
		"probes: {every: often}",
		"repeat: twice",
		"seed: -1",
		"negligible: small",
		"bench: {cpus: all}",
		"bench: {precison: 1%}",
	} {
		_, wrong := Parse(filepath.Join(t.TempDir(), "dyno.yaml"), []byte(text))
		if wrong == nil {
			t.Errorf("the parser takes %s", text)
		}
		if err := inEditor(t, s, text); err == nil {
			t.Errorf("the schema takes %s, of which the parser says: %v", text, fmt.Sprint(wrong))
		}
	}
}
