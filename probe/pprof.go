package probe

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/pprof/profile"
)

// remote is a service's own net/http/pprof.
type remote struct {
	base   *url.URL
	client *http.Client
	length time.Duration // of the window; 0 if it is not known
}

const (
	// remotePart is how long one CPU profile is where nobody knows how long
	// the window will be. Between two of them the runtime takes some 0.1 s.
	remotePart  = 2 * time.Second
	remoteGrace = 30 * time.Second // beyond the time that an answer takes by itself
)

func newRemote(t Target) (*remote, error) {
	base, err := url.Parse(t.Pprof)
	if err != nil {
		return nil, err
	}
	return &remote{base, &http.Client{Transport: transport(t)}, t.Length}, nil
}

func (r *remote) close() { r.client.CloseIdleConnections() }

// open asks for a page below /debug/pprof that takes the service so long to
// make. The caller closes it, and calls release.
func (r *remote) open(page, key, value string, takes time.Duration) (body io.ReadCloser, release func(), err error) {
	u := r.base.JoinPath(page)
	if key != "" {
		q := u.Query()
		q.Set(key, value)
		u.RawQuery = q.Encode()
	}
	// The window's end does not end a request: what has been recorded would
	// be lost. Its time is bounded here.
	ctx, release := context.WithTimeout(context.Background(), takes+remoteGrace)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		release()
		return nil, nil, err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		release()
		return nil, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
		resp.Body.Close()
		release()
		return nil, nil, fmt.Errorf("%s: %s: %s", u, resp.Status, bytes.TrimSpace(text))
	}
	return resp.Body, release, nil
}

func (r *remote) get(page, key, value string, takes time.Duration) (*profile.Profile, error) {
	body, release, err := r.open(page, key, value, takes)
	if err != nil {
		return nil, err
	}
	defer release()
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, profileMost+1))
	if err == nil && len(data) > profileMost {
		err = fmt.Errorf("profile %s is larger than %d MiB", page, profileMost>>20)
	}
	if err != nil {
		return nil, err
	}
	return profile.ParseData(data)
}

// rates are the service's to set.
func (r *remote) rates([]string) (bool, error) { return false, nil }

func (r *remote) take(name string) (*profile.Profile, error) {
	if name == "heap" {
		return r.get(name, "gc", "1", profileTime)
	}
	return r.get(name, "", "", profileTime)
}

func (r *remote) startCPU() error { return nil }

// cpu asks for CPU profiles one after the other and adds them up: the page
// wants to know in advance how long each is to be, in whole seconds. A profile
// under way when the window ends is awaited; the subject is idle by then.
func (r *remote) cpu(ctx context.Context) (*profile.Profile, string, error) {
	began := time.Now()
	var over atomic.Int64 // when the window ended, from began
	defer context.AfterFunc(ctx, func() { over.Store(int64(time.Since(began))) })()
	var parts []*profile.Profile
	var covered time.Duration
	var failed error
	for longest := time.Duration(0); ctx.Err() == nil; {
		at := time.Since(began)
		part := remotePart
		if r.length > 0 {
			part = (r.length - at).Round(time.Second)
		}
		if longest > 0 {
			part = min(part, longest)
		}
		part = max(part, time.Second)
		p, err := r.get("profile", "seconds", strconv.Itoa(int(part/time.Second)), part)
		if err != nil && part > time.Second && len(parts) == 0 && !isTimeout(err) {
			longest = time.Second // as a server with a WriteTimeout wants it
			continue
		}
		if err != nil {
			failed = err
			<-ctx.Done()
			break
		}
		length := time.Duration(p.DurationNanos)
		if end := time.Duration(over.Load()); end > 0 {
			length = min(length, end-at)
		}
		covered += length
		parts = append(parts, p)
	}
	if len(parts) == 0 {
		return nil, "", cmp.Or(failed, errors.New("the window was over at once"))
	}
	p, err := profile.Merge(parts)
	if err != nil {
		return nil, "", err
	}
	window := cmp.Or(time.Duration(over.Load()), time.Since(began))
	doubt := ""
	if frac := covered.Seconds() / window.Seconds(); frac < 0.99 {
		doubt = fmt.Sprintf("profile cpu covers %.0f%% of the window, in %d parts", 100*frac, len(parts))
		if failed != nil {
			doubt += fmt.Sprintf(", and the next failed: %v", failed)
		}
	}
	return p, doubt, nil
}

// transport is how profiles of the service are asked for: as the load does, past
// any proxy.
func transport(t Target) *http.Transport {
	return &http.Transport{
		DisableCompression: true, // its CPU time would be the subject's
		TLSClientConfig:    &tls.Config{InsecureSkipVerify: t.Insecure},
	}
}

// TakeProfile asks a service's net/http/pprof, at a URL such as
// http://127.0.0.1:6060/debug/pprof, for a profile as go tool pprof reads it. For
// heap the service collects first.
func TakeProfile(url, name string, insecure bool) ([]byte, error) {
	r, err := newRemote(Target{Pprof: url, Insecure: insecure})
	if err != nil {
		return nil, err
	}
	defer r.close()
	p, err := r.take(name)
	if err != nil {
		return nil, fmt.Errorf("take profile %s: %w", name, err)
	}
	var data bytes.Buffer
	if err := p.Write(&data); err != nil {
		return nil, fmt.Errorf("take profile %s: %w", name, err)
	}
	return data.Bytes(), nil
}
