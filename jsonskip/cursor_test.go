package jsonskip

import (
	"strings"
	"testing"
)

// In well-formed JSON the cursor finds what encoding/json does.
func TestCursorStrings(t *testing.T) {
	c := &Cursor{Data: []byte(` { "a\"b" : [ 1 , {"x":"]}\\"} , "\\\"" ] , "c":null, "d":"\u00e9" , "e":{} } `)}
	var keys, raw []string
	d := ""
	c.Object(func(key string) {
		keys = append(keys, key)
		if key == "d" {
			c.Decode(&d)
			return
		}
		raw = append(raw, string(c.Skip()))
	})
	if c.Err != nil || strings.Join(keys, " ") != `a"b c d e` || strings.Join(raw, "|") != `[ 1 , {"x":"]}\\"} , "\\\"" ]|null|{}` || d != "é" {
		t.Errorf("%q %q %q %v", keys, raw, d, c.Err)
	}
}
