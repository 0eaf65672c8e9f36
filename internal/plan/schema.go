package plan

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan/check"
	"github.com/goccy/go-yaml"
)

//go:embed keys.yaml
var keysText []byte

// about is what an editor says of a key, and the values that it offers.
type about struct {
	About    string
	Default  any
	Examples []any
}

// schema is a JSON Schema of the draft 2020-12.
type schema map[string]any

// Schema returns the JSON Schema of dyno.yaml, for editors: https://json-schema.org/draft/2020-12. It is made
// from the types that the parser reads, so that it has the same keys. What a plan means is checked by the
// parser alone.
func Schema() ([]byte, error) {
	s, step := object(reflect.TypeFor[dyno.Experiment]()), object(reflect.TypeFor[dyno.Step]())
	properties := s["properties"].(schema)
	known := schema{} // any other factor is a variable
	for _, factor := range knownFactors {
		known[factor] = listOf(plainValue())
	}
	properties["vary"].(schema)["properties"] = known
	if err := describe(properties, step["properties"].(schema)); err != nil {
		return nil, err
	}
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	line := text(`^\S+\s+\S`, "a request, such as GET /path")
	line["type"] = "string"
	line["examples"] = []string{"GET /"}
	s["$defs"] = schema{"steps": schema{"type": "array", "items": schema{"anyOf": []schema{line, step}}}}
	return json.MarshalIndent(s, "", "  ")
}

// put gives a key its text and values. Note: the keyword default would not do, as editors write all defaults
// of the keys below when they complete a key, also of keys that exclude each other.
func (a about) put(of schema) {
	of["description"] = a.About
	values := a.Examples
	if a.Default != nil {
		of["description"] = fmt.Sprintf("%s Default: %v.", a.About, a.Default)
		values = append([]any{a.Default}, values...)
	}
	forms, _ := of["anyOf"].([]schema)
	if len(values) == 0 || of["enum"] != nil {
		return
	}
	if _, list := values[0].([]any); forms == nil || list {
		of["examples"] = values
		return
	}
	for _, form := range forms { // of a list, and of one element in its place
		if element, ok := form["items"].(schema); ok {
			form = element
		}
		form["examples"] = values
	}
}

// knownFactors are those that an editor offers.
var knownFactors = []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GOEXPERIMENT", "go", "rev", "version", "build", "limit.cpu", "limit.memory", "load.rate", "load.speed", "load.concurrency"}

// describe gives each key what keys.yaml says of it. A key without is a mistake, and so is a text without key.
func describe(root, step schema) error {
	var texts map[string]about
	if err := yaml.UnmarshalWithOptions(keysText, &texts, yaml.Strict()); err != nil {
		return fmt.Errorf("keys.yaml: %w", err)
	}
	used := map[string]bool{}
	var walk func(prefix string, properties schema) error
	walk = func(prefix string, properties schema) error {
		for key, of := range properties {
			of, name := of.(schema), prefix+key
			if _, ok := step[key]; ok && prefix == "load." {
				name = "step." + key
			}
			text, ok := texts[name]
			if !ok {
				return fmt.Errorf("keys.yaml does not say what %s is", name)
			}
			used[name] = true
			text.put(of)
			below, ok := of["properties"].(schema)
			if ok {
				if err := walk(name+".", below); err != nil {
					return err
				}
			}
			if each, isMap := of["additionalProperties"].(schema); isMap && each["properties"] != nil { // the names are the user's
				if err := walk(name+".NAME.", each["properties"].(schema)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := walk("", root); err != nil {
		return err
	}
	if err := walk("step.", step); err != nil {
		return err
	}
	for name := range texts {
		if !used[name] {
			return fmt.Errorf("keys.yaml explains %s, but no plan has this key", name)
		}
	}
	return nil
}

// object is a mapping with a key for each field that the parser reads.
func object(t reflect.Type) schema {
	properties := schema{}
	for key, field := range check.Keys(reflect.New(t).Elem()) {
		if of := schemaOf(key, field.Type()); of != nil {
			properties[key] = of
		}
	}
	switch t {
	case reflect.TypeFor[dyno.Load](): // the keys of a single step may stand here
		step := object(reflect.TypeFor[dyno.Step]())["properties"].(schema)
		for _, key := range stepKeys {
			properties[key] = step[key]
		}
	}
	return schema{"type": "object", "additionalProperties": false, "properties": properties}
}

// schemaOf is what the reader of a type takes, or nil where it has none.
func schemaOf(key string, t reflect.Type) schema {
	switch t {
	case reflect.TypeFor[dyno.Limits](), reflect.TypeFor[dyno.Probes](), reflect.TypeFor[dyno.Client](), reflect.TypeFor[dyno.Subject](), reflect.TypeFor[dyno.Load](), reflect.TypeFor[dyno.On]():
		return object(t)
	case reflect.TypeFor[*dyno.Bench](), reflect.TypeFor[*dyno.Kubernetes](), reflect.TypeFor[*dyno.Recording](), reflect.TypeFor[*dyno.GRPC]():
		return object(t.Elem())
	case reflect.TypeFor[map[string]dyno.Need]():
		needs := mapOf(object(reflect.TypeFor[dyno.Need]()))
		needs["properties"] = schema{"compose": word(), "services": listOf(word())}
		return needs
	case reflect.TypeFor[*dyno.Server]():
		server := object(reflect.TypeFor[dyno.Server]())
		server["type"] = []string{"object", "null"}
		return server
	case reflect.TypeFor[dyno.Factors]():
		return mapOf(listOf(plainValue()))
	case reflect.TypeFor[[]dyno.Setting]():
		return schema{"type": "array", "items": mapOf(plainValue())}
	case reflect.TypeFor[[]dyno.Step]():
		return schema{"$ref": "#/$defs/steps"}
	case reflect.TypeFor[dyno.Parallel]():
		return schema{"anyOf": []schema{count(), {"$ref": "#/$defs/steps"}}}
	case reflect.TypeFor[[]dyno.Threshold]():
		return listOf(text(`(<=|>=|==|!=|<|>)`, "a threshold, such as p99 < 30ms"))
	case reflect.TypeFor[[]dyno.More](), reflect.TypeFor[[]string]():
		switch key {
		case "profile":
			return listOf(oneOf(dyno.ProfileNames...))
		case "use":
			return listOf(oneOf(dyno.ProbeNames...))
		case "data": // messages, which may be mappings
			message := schema{"type": []string{"string", "object"}}
			return listOf(message)
		}
		return listOf(word())
	case reflect.TypeFor[[]int]():
		return listOf(schema{"type": "integer", "minimum": 100, "maximum": 599})
	case reflect.TypeFor[map[string]string]():
		return mapOf(plainValue())
	case reflect.TypeFor[bool](), reflect.TypeFor[*bool](), reflect.TypeFor[dyno.Not]():
		return schema{"type": "boolean"}
	case reflect.TypeFor[*uint64]():
		return schema{"type": "integer", "minimum": 0}
	case reflect.TypeFor[dyno.Duration]():
		s := text(duration, "a time, such as 250ms or 10s")
		s["minimum"], s["maximum"] = 0, 0 // no number but 0 is one
		return s
	case reflect.TypeFor[dyno.Sleep]():
		return text(`^`+period+`(\.\.`+period+`)?$`, "a time, or a range such as 1s..3s")
	case reflect.TypeFor[dyno.Rate]():
		return text(`^\s*[0-9]`, "a rate, such as 500/s")
	case reflect.TypeFor[dyno.Speed]():
		return text(`^\s*[0-9.eE+-]+x?\s*$`, "how many times as fast as recorded, such as 2")
	case reflect.TypeFor[*dyno.Fraction]():
		return text(`^\s*[0-9.eE+-]+%?$`, "a share, such as 1%")
	case reflect.TypeFor[dyno.CPUs]():
		return text(`^(none|\s*[0-9.eE+-]+%?)$`, "a number of CPUs, such as 0.5 or 10%, or none")
	case reflect.TypeFor[dyno.Size]():
		return text(`^(none|\s*[0-9]+([KMGT]i)?B?\s*)$`, "a size, such as 64MiB, or none")
	}
	switch t.Kind() {
	case reflect.String:
		switch key {
		case "arrival":
			return oneOf("constant", "poisson")
		case "keep_requests":
			return oneOf("all", "none")
		case "per":
			return oneOf(dyno.PerLaunch, dyno.PerBlock, dyno.PerRun)
		case "http":
			return schema{"enum": []any{"1.1", "2", 1.1, 2}}
		}
		return word()
	case reflect.Int:
		if key == "cpus" {
			return schema{"type": "integer", "minimum": -1}
		}
		return count()
	}
	return nil
}

const (
	period   = `(0|([0-9.]+(ns|us|µs|ms|s|m|h))+)`
	duration = `^` + period + `$`
)

// plainValue is a scalar, which the parser reads as it is written.
func plainValue() schema { return schema{"type": []string{"string", "number", "boolean"}} }

// word is the value of a key that takes a text. The parser takes true, too; an editor would offer it for each.
func word() schema { return schema{"type": []string{"string", "number"}} }

func oneOf(words ...string) schema { return schema{"type": "string", "enum": words} }

// text has a pattern, and what an editor says of a value that does not match it.
func text(pattern, want string) schema {
	return schema{"type": []string{"string", "number"}, "pattern": pattern, "patternErrorMessage": "Want " + want + "."}
}

func count() schema {
	return schema{"type": []string{"integer", "string"}, "minimum": 1, "pattern": `^[0-9_]+$`, "patternErrorMessage": "Want a whole number above 0."}
}

// listOf takes a list, or one element for a list of one.
func listOf(element schema) schema {
	one := maps.Clone(element)
	return schema{"anyOf": []schema{{"type": "array", "items": element}, one}}
}

func mapOf(values schema) schema { return schema{"type": "object", "additionalProperties": values} }
