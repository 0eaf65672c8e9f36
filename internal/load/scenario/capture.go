package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/dynolab/dyno/internal/load/http1"
	"github.com/itchyny/gojq"
)

const MaxKept = 16 << 20

// A capture takes a value out of an answer by one of jq, header and cookie.
type capture struct {
	name           string
	jq             *gojq.Code
	header, cookie string
}

func compileCaptures(m map[string]string) ([]capture, error) {
	var cs []capture
	for _, name := range slices.Sorted(maps.Keys(m)) {
		c := capture{name: name}
		if h, ok := strings.CutPrefix(m[name], "header:"); ok {
			c.header = h
		} else if k, ok := strings.CutPrefix(m[name], "cookie:"); ok {
			c.cookie = k
		} else {
			q, err := gojq.Parse(m[name])
			if err == nil {
				c.jq, err = gojq.Compile(q)
			}
			if err != nil {
				return nil, fmt.Errorf("capture %s: %q: %w", name, m[name], err)
			}
		}
		cs = append(cs, c)
	}
	return cs, nil
}

// Capture puts what the step captures into v. Failures are counted by its errors, so
// these are short and name nothing that varies.
func (s *Step) Capture(ctx context.Context, a *http1.Answer, v *Vars) error {
	if len(s.captures) == 0 { // nearly always; doc would be allocated
		return nil
	}
	var doc any
	for _, c := range s.captures {
		if c.jq != nil && doc == nil {
			if err := decode(a, &doc); err != nil {
				return fmt.Errorf("capture %s: %w", c.name, err)
			}
		}
		value, err := c.value(ctx, a, doc)
		if err != nil {
			return fmt.Errorf("capture %s: %w", c.name, err)
		}
		v.Captured[c.name] = value
	}
	return nil
}

func decode(a *http1.Answer, doc *any) error {
	if len(a.Body) > MaxKept {
		return fmt.Errorf("body over %d MiB", MaxKept>>20)
	}
	d := json.NewDecoder(bytes.NewReader(a.Body))
	d.UseNumber() // identifiers above 2^53 stay what they are
	if d.Decode(doc) != nil {
		return errors.New("body is not JSON")
	}
	return nil
}

func (c *capture) value(ctx context.Context, a *http1.Answer, doc any) (string, error) {
	switch {
	case c.header != "":
		if v := a.Header.Get(c.header); v != "" {
			return v, nil
		}
		return "", errors.New("no such header")
	case c.cookie != "":
		for _, k := range (&http.Response{Header: a.Header}).Cookies() {
			if k.Name == c.cookie {
				return k.Value, nil
			}
		}
		return "", errors.New("no such cookie")
	}
	v, ok := c.jq.RunWithContext(ctx, doc).Next()
	if !ok || v == nil {
		return "", errors.New("no value")
	}
	switch v := v.(type) {
	case error:
		return "", errors.New("jq failed")
	case string:
		return v, nil
	}
	b, err := gojq.Marshal(v)
	return string(b), err
}
