package traffic

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno/internal/safe"
)

// An entry is a request of a HAR file (http://www.softwareishard.com/blog/har-12-spec/), as browsers and proxies write it.
type entry struct {
	Started  string `json:"startedDateTime"`
	Type     string `json:"_resourceType"`
	Messages []any  `json:"_webSocketMessages"`
	Request  struct {
		Method   string   `json:"method"`
		URL      string   `json:"url"`
		Headers  []Header `json:"headers"`
		BodySize any      `json:"bodySize"` // a number, but for some tools a text
		PostData *struct {
			Text     string   `json:"text"`
			Encoding string   `json:"encoding"`
			Params   []Header `json:"params"`
		} `json:"postData"`
	} `json:"request"`
	Response struct {
		Status int `json:"status"`
	} `json:"response"`

	odd    bool // it is not as entries are
	origin string
	at     time.Time
	body   string
}

// har reads a HAR file. A page asks many hosts; those of the most frequent one are kept, as the load is of one service.
func (b *builder) har(in io.Reader) error {
	in = io.LimitReader(in, safe.Data.Bytes+1)
	d := json.NewDecoder(in)
	var kept []*entry
	hosts := map[string]int{}
	err := entries(d, func(e *entry) {
		if why := e.read(); why != "" {
			b.leave(why)
			return
		}
		hosts[e.origin]++
		kept = append(kept, e)
	})
	if d.InputOffset() >= safe.Data.Bytes {
		err = fmt.Errorf("it has more than %d bytes (consider: one without the contents of answers, or a part of it)", safe.Data.Bytes)
	}
	if err != nil {
		return fmt.Errorf("it is no HAR file: %w", err)
	}
	host := ""
	for h, n := range hosts {
		if n > hosts[host] || n == hosts[host] && h < host {
			host = h
		}
	}
	for _, e := range kept {
		if e.origin != host {
			b.leave(fmt.Sprintf(otherHost, host))
			continue
		}
		q := Request{Method: e.Request.Method, Target: e.Request.URL, Body: e.body}
		if _, err := b.add(e.at, 0, q, e.Response.Status, b.keep(e.Request.Headers)); err != nil {
			return err
		}
	}
	return nil
}

// entries calls each with one entry after the other. Only one of them is in memory as a text.
func entries(d *json.Decoder, each func(*entry)) error {
	for depth, key := 0, ""; ; {
		t, err := d.Token()
		if err != nil {
			return err
		}
		switch {
		case t == json.Delim('{'):
			depth++
		case t == json.Delim('['):
			for d.More() {
				if key != "entries" || depth != 2 {
					if err := d.Decode(new(json.RawMessage)); err != nil {
						return err
					}
					continue
				}
				var text json.RawMessage
				if err := d.Decode(&text); err != nil {
					return err
				}
				e := new(entry)
				e.odd = json.Unmarshal(text, e) != nil
				each(e)
			}
			if _, err := d.Token(); err != nil {
				return err
			}
			if key == "entries" && depth == 2 {
				return nil
			}
		case t == json.Delim('}'):
			if depth--; depth == 0 {
				return nil
			}
		default:
			key, _ = t.(string)
		}
	}
}

// sends reports whether the request is said to have a body.
func (e *entry) sends() bool {
	n, err := strconv.ParseFloat(fmt.Sprint(e.Request.BodySize), 64)
	return err == nil && n > 0
}

// read finds why an entry cannot be sent again, "" if it can.
func (e *entry) read() string {
	u, err := url.Parse(e.Request.URL)
	switch {
	case e.odd:
		return "entries that cannot be read"
	case err != nil:
		return badTarget
	case u.Scheme == "ws" || u.Scheme == "wss" || e.Type == "websocket" || e.Messages != nil:
		return websocket
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || !isMethod(e.Request.Method):
		return noRequest
	}
	if e.at, err = time.Parse(time.RFC3339Nano, e.Started); err != nil || !inRange(e.at) {
		return noTime
	}
	e.origin = strings.ToLower(u.Scheme + "://" + u.Host)
	if p := e.Request.PostData; p != nil {
		if e.body = p.Text; p.Encoding == "base64" {
			raw, err := base64.StdEncoding.DecodeString(p.Text)
			if err != nil {
				return fmt.Sprintf(noBody, e.Request.Method)
			}
			e.body = string(raw)
		}
		if p.Text == "" && len(p.Params) > 0 {
			form := url.Values{}
			for _, f := range p.Params {
				form.Add(f.Name, f.Value)
			}
			e.body = form.Encode()
		}
	}
	sent := func(h Header) bool {
		n, _ := strconv.Atoi(h.Value)
		return strings.EqualFold(h.Name, "Content-Length") && n > 0
	}
	if e.body == "" && (e.sends() || slices.ContainsFunc(e.Request.Headers, sent)) {
		return fmt.Sprintf(noBody, e.Request.Method)
	}
	return whyNot(e.Request.Method, u.Path, e.Response.Status, true)
}
