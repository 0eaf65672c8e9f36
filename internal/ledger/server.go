package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A server has an object for each month, and one that names the months. An object is written only if it still is what
// was read. The index comes first, so that it names all months, and perhaps one that is not there yet.
type server struct {
	base   *url.URL
	bucket string // s3://…; "" of another server
	sign   func(ctx context.Context, req *http.Request, body []byte) error
	cure   string // of a request that is forbidden
}

const indexFile = "index.json"

type index struct {
	Months []string `json:"months"` // names of files, sorted
}

func openServer(place string) (*server, error) {
	base, err := url.Parse(place)
	if err != nil || base.Host == "" {
		return nil, errors.New("open a ledger: the URL cannot be read (want one such as https://example.org/track/)") // it may have a password
	}
	base.Fragment = ""
	return &server{base: base}, nil
}

// authorized is a server that wants a header; "" means that it wants none.
func (s *server) authorized(header string) *server {
	s.cure = "DYNO_TRACK_AUTHORIZATION"
	s.sign = func(_ context.Context, req *http.Request, _ []byte) error {
		if header != "" {
			req.Header.Set("Authorization", header)
		}
		return nil
	}
	return s
}

func (s *server) String() string {
	if s.bucket != "" {
		return s.bucket
	}
	u := *s.base
	u.User, u.RawQuery, u.ForceQuery = nil, "", false
	return u.String()
}

func (s *server) sync(context.Context, string) (SyncResult, error) { return SyncResult{}, nil }

// A version is what was read of an object.
type version struct {
	there bool
	tag   string // ETag
}

// A session is the requests of one call. Its connections end with it.
type session struct {
	*server
	client *http.Client
}

func (s *server) session() (*session, func()) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true // an ETag of a compressed object is weak
	t.ResponseHeaderTimeout = time.Minute
	client := &http.Client{Transport: t, Timeout: 5 * time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // a PUT would become a GET, and the credentials go elsewhere
	}}
	return &session{s, client}, t.CloseIdleConnections
}

// do sends a request and returns the answer with its body. Messages have neither the query of the URL nor what the server
// says, as either may have credentials.
func (s *session) do(ctx context.Context, method, name string, header http.Header, body []byte) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.base.JoinPath(name).String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, fmt.Errorf("%s %s: the URL cannot be read", method, name)
	}
	req.Header = header
	if err := s.sign(ctx, req, body); err != nil {
		return nil, nil, fmt.Errorf("%s %s: sign: %w", method, name, err)
	}
	resp, err := s.client.Do(req)
	if e := (*url.Error)(nil); errors.As(err, &e) {
		err = e.Err
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s %s: %w", method, name, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, mostBytes+1))
	if err == nil && len(data) > mostBytes {
		err = fmt.Errorf("it has more than %d bytes", mostBytes)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s %s: %w", method, name, err)
	}
	return resp, data, nil
}

// refused is the error of an answer. Its text has nothing of the body but the code of a bucket.
func (s *server) refused(method, name string, resp *http.Response, body []byte) error {
	text := fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	code := s.code(body)
	if code != "" {
		text += " " + code
	}
	redirected := resp.StatusCode >= 300 && resp.StatusCode < 400
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		text += " (consider: " + s.cure + ")"
	case s.bucket != "" && (redirected || code == "AuthorizationHeaderMalformed"):
		text += " (consider: AWS_REGION, which has to be the bucket's)"
	case redirected:
		text += " (consider: the URL that it redirects to)"
	}
	return fmt.Errorf("%s %s: %s", method, name, text)
}

var errorCode = regexp.MustCompile(`<Code>([A-Za-z]{1,60})</Code>`)

// code is the bucket's word for an error, such as NoSuchBucket; "" if it says none.
func (s *server) code(body []byte) string {
	if m := errorCode.FindSubmatch(body); m != nil && s.bucket != "" {
		return string(m[1])
	}
	return ""
}

func (s *session) get(ctx context.Context, name string) ([]byte, version, error) {
	resp, data, err := s.do(ctx, http.MethodGet, name, http.Header{"Cache-Control": {"no-cache"}}, nil)
	switch {
	case err != nil:
		return nil, version{}, err
	case resp.StatusCode == http.StatusNotFound && s.code(data) != "NoSuchBucket":
		return nil, version{}, nil
	case resp.StatusCode != http.StatusOK:
		return nil, version{}, s.refused(http.MethodGet, name, resp, data)
	}
	return data, version{true, resp.Header.Get("ETag")}, nil
}

// put replaces a version of an object. The error is a [*lostError] if the object is another one by now.
func (s *session) put(ctx context.Context, name string, data []byte, old version) error {
	header := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	switch {
	case !old.there:
		header.Set("If-None-Match", "*")
	case old.tag == "" || strings.HasPrefix(old.tag, "W/"):
		return fmt.Errorf("GET %s: the server gives no strong ETag, so that writers could not notice each other", name)
	default:
		header.Set("If-Match", old.tag)
	}
	resp, said, err := s.do(ctx, http.MethodPut, name, header, data)
	if err != nil {
		return err
	}
	switch status := resp.StatusCode; {
	case status == http.StatusPreconditionFailed || status == http.StatusConflict:
		return &lostError{old.tag, s.refused(http.MethodPut, name, resp, said)}
	case status < 200 || status > 299:
		return s.refused(http.MethodPut, name, resp, said)
	}
	return nil
}

// index reads the index.
func (s *session) index(ctx context.Context) (i index, text []byte, v version, err error) {
	text, v, err = s.get(ctx, indexFile)
	if err != nil || !v.there {
		return i, text, v, err
	}
	if err := json.Unmarshal(text, &i); err != nil {
		return i, text, v, fmt.Errorf("%s is no index of a ledger: %w", indexFile, err)
	}
	for _, name := range i.Months {
		if _, err := time.Parse(monthFile, name); err != nil {
			return i, text, v, fmt.Errorf("%s is no index of a ledger: it names %q", indexFile, name)
		}
	}
	return i, text, v, nil
}

func (s *server) read(ctx context.Context, each func(file string, text []byte)) error {
	session, end := s.session()
	defer end()
	i, _, _, err := session.index(ctx)
	if err != nil {
		return err
	}
	for _, name := range i.Months {
		text, _, err := session.get(ctx, name)
		if err != nil {
			return err
		}
		each(name, text)
	}
	return nil
}

func (s *server) add(ctx context.Context, files map[string][][]byte, _ []string) error {
	session, end := s.session()
	defer end()
	names := slices.Sorted(maps.Keys(files))
	if err := contend(ctx, func() error { return session.name(ctx, names) }); err != nil {
		return err
	}
	for _, name := range names {
		if err := contend(ctx, func() error {
			text, v, err := session.get(ctx, name)
			if err != nil {
				return err
			}
			merged, _, err := union(text, files[name]...)
			if err != nil || bytes.Equal(merged, text) {
				return err
			}
			return session.put(ctx, name, merged, v)
		}); err != nil {
			return err
		}
	}
	return nil
}

// name makes sure that the index names months, and that the server heeds conditions: it is asked to replace the index by
// the same text under a condition that does not hold.
func (s *session) name(ctx context.Context, months []string) error {
	i, text, old, err := s.index(ctx)
	if err != nil {
		return err
	}
	if !old.there {
		text = []byte(`{"months":[]}`)
	}
	resp, said, err := s.do(ctx, http.MethodPut, indexFile, http.Header{"If-Match": {`"none"`}}, text)
	switch {
	case err != nil:
		return err
	case resp.StatusCode >= 200 && resp.StatusCode <= 299:
		return errors.New("the server ignores If-Match: two that write at once would lose lines (want a server that knows conditional PUT)")
	case !slices.Contains([]int{http.StatusPreconditionFailed, http.StatusConflict, http.StatusNotFound}, resp.StatusCode):
		return s.refused(http.MethodPut, indexFile, resp, said)
	}
	known := len(i.Months)
	for _, m := range months {
		if !slices.Contains(i.Months, m) {
			i.Months = append(i.Months, m)
		}
	}
	if len(i.Months) == known {
		return nil
	}
	slices.Sort(i.Months)
	if text, err = json.Marshal(i); err != nil {
		return err
	}
	return s.put(ctx, indexFile, append(text, '\n'), old)
}
