package plan

import (
	"encoding/json"
	"maps"
	"reflect"

	"github.com/dynolab/dyno"
)

// schema is a JSON Schema of the draft 2020-12.
type schema map[string]any

// Schema returns the JSON Schema of dyno.yaml, for editors: https://json-schema.org/draft/2020-12. It is made
// from the types that the parser reads, so that it has the same keys. What a plan means is checked by the
// parser alone.
func Schema() ([]byte, error) {
	s := object(reflect.TypeFor[dyno.Experiment]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	line := text(`^\S+\s+\S`) // GET /path
	line["type"] = "string"
	s["$defs"] = schema{"steps": schema{"type": "array", "items": schema{"anyOf": []schema{line, object(reflect.TypeFor[dyno.Step]())}}}}
	s["title"] = "dyno.yaml: a plan of dyno"
	return json.MarshalIndent(s, "", "  ")
}

// object is a mapping with a key for each field that the parser reads.
func object(t reflect.Type) schema {
	properties := schema{}
	for key, field := range dyno.Keys(reflect.New(t).Elem()) {
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
	case reflect.TypeFor[dyno.Limits](), reflect.TypeFor[dyno.Probes](), reflect.TypeFor[dyno.Client](), reflect.TypeFor[dyno.Subject](), reflect.TypeFor[dyno.Load]():
		return object(t)
	case reflect.TypeFor[*dyno.Bench]():
		return object(t.Elem())
	case reflect.TypeFor[dyno.Factors]():
		return mapOf(listOf(plainValue()))
	case reflect.TypeFor[[]dyno.Setting]():
		return schema{"type": "array", "items": mapOf(plainValue())}
	case reflect.TypeFor[[]dyno.Step]():
		return schema{"$ref": "#/$defs/steps"}
	case reflect.TypeFor[dyno.Parallel]():
		return schema{"anyOf": []schema{count(), {"$ref": "#/$defs/steps"}}}
	case reflect.TypeFor[[]dyno.Threshold]():
		return listOf(text(`(<=|>=|==|!=|<|>)`))
	case reflect.TypeFor[[]dyno.More](), reflect.TypeFor[[]string]():
		return listOf(plainValue())
	case reflect.TypeFor[[]int]():
		return listOf(schema{"type": "integer", "minimum": 100, "maximum": 599})
	case reflect.TypeFor[map[string]string]():
		return mapOf(plainValue())
	case reflect.TypeFor[bool](), reflect.TypeFor[*bool](), reflect.TypeFor[dyno.Not]():
		return schema{"type": "boolean"}
	case reflect.TypeFor[dyno.Duration]():
		return text(duration)
	case reflect.TypeFor[dyno.Sleep]():
		return text(`^` + period + `(\.\.` + period + `)?$`)
	case reflect.TypeFor[dyno.Rate]():
		return text(`^\s*[0-9]`)
	case reflect.TypeFor[*dyno.Fraction]():
		return text(`^\s*[0-9.eE+-]+%?$`)
	case reflect.TypeFor[dyno.CPUs]():
		return text(`^(none|\s*[0-9.eE+-]+%?)$`)
	case reflect.TypeFor[dyno.Size]():
		return text(`^(none|\s*[0-9]+([KMGT]i)?B?\s*)$`)
	}
	switch t.Kind() {
	case reflect.String:
		return plainValue()
	case reflect.Int:
		if key == "cpus" {
			return schema{"type": "integer", "minimum": -1}
		}
		return count()
	case reflect.Uint64:
		return schema{"type": "integer", "minimum": 0}
	}
	return nil
}

const (
	period   = `(0|([0-9.]+(ns|us|µs|ms|s|m|h))+)`
	duration = `^` + period + `$`
)

// plainValue is a scalar, which the parser reads as it is written.
func plainValue() schema { return schema{"type": []string{"string", "number", "boolean"}} }

func text(pattern string) schema {
	return schema{"type": []string{"string", "number"}, "pattern": pattern}
}

func count() schema {
	return schema{"type": []string{"integer", "string"}, "minimum": 1, "pattern": `^[0-9_]+$`}
}

// listOf takes a list, or one element for a list of one.
func listOf(element schema) schema {
	one := maps.Clone(element)
	return schema{"anyOf": []schema{{"type": "array", "items": element}, one}}
}

func mapOf(values schema) schema { return schema{"type": "object", "additionalProperties": values} }
