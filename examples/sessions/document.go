package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sort"
)

// decodeObject parses data as one JSON object and nothing after it. Numbers
// stay as they are written, so a merge changes no digit of what it copies.
func decodeObject(data []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var object map[string]any
	if err := dec.Decode(&object); err != nil {
		return nil, err
	}
	if object == nil {
		return nil, errors.New("want an object, have null")
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("unexpected data after the object")
	}
	return object, nil
}

// merge applies an RFC 7386 merge patch to target, in place, and returns it:
// members of the patch replace those of the target, objects are merged member
// by member, null removes. A nil target is an empty object. The result may
// share values with patch.
func merge(target, patch map[string]any) map[string]any {
	if target == nil {
		target = make(map[string]any, len(patch))
	}
	for name, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(target, name)
		case map[string]any:
			child, _ := target[name].(map[string]any) // anything else is replaced
			target[name] = merge(child, value)
		default:
			target[name] = value
		}
	}
	return target
}

// names returns the names of an object's members, sorted.
func names(object map[string]any) []string {
	list := make([]string, 0, len(object))
	for name := range object {
		list = append(list, name)
	}
	sort.Strings(list)
	return list
}
