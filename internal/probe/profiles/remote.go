package profiles

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
	"sync/atomic"
	"time"

	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/probe/goruntime"
	"github.com/google/pprof/profile"
)

type remote struct {
	base   *url.URL
	client *http.Client
	length time.Duration // of the window; 0 if it is not known
}

const (
	// remotePart is the length of a CPU profile if the window's is not known. Between
	// two the runtime takes some 0.1 s.
	remotePart  = 2 * time.Second
	remoteGrace = 30 * time.Second // beyond the time that an answer takes by itself
	wakeTime    = 5 * time.Second  // for any answer at all
)

// newRemote asks as the load does: past any proxy.
func newRemote(t probe.Target) (*remote, error) {
	base, err := url.Parse(t.Pprof)
	if err != nil {
		return nil, err
	}
	return &remote{base, &http.Client{Transport: &http.Transport{
		DisableCompression: true, // its CPU time would be the subject's
		TLSClientConfig:    &tls.Config{InsecureSkipVerify: t.Insecure},
	}}, t.Length}, nil
}

func (r *remote) Close() { r.client.CloseIdleConnections() }

// page hands read a page below /debug/pprof that takes the service so long to make.
func (r *remote) page(page, query string, takes time.Duration, read func(io.Reader) error) error {
	u := r.base.JoinPath(page)
	u.RawQuery = query
	// The window's end does not end a request, or what was recorded would be lost.
	ctx, cancel := context.WithTimeout(context.Background(), takes+remoteGrace)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
		return fmt.Errorf("%s: %s: %s", u, resp.Status, bytes.TrimSpace(text))
	}
	return read(resp.Body)
}

func (r *remote) get(page, query string, takes time.Duration) (p *profile.Profile, err error) {
	err = r.page(page, query, takes, func(body io.Reader) error {
		data, err := io.ReadAll(io.LimitReader(body, goruntime.AnswerMost+1))
		if err == nil && len(data) > goruntime.AnswerMost {
			err = fmt.Errorf("profile %s is larger than %d MiB", page, goruntime.AnswerMost>>20)
		}
		if err == nil {
			p, err = profile.ParseData(data)
		}
		return err
	})
	return p, err
}

// rates are the service's own. It is asked whether it answers at all, before what may take a minute.
func (r *remote) rates([]string) (bool, error) { return false, r.awake() }

func (r *remote) awake() error {
	client := *r.client
	client.Timeout = wakeTime
	resp, err := client.Head(r.base.String())
	if err != nil {
		return err
	}
	return resp.Body.Close() // whatever it says of that page
}

func (r *remote) take(name string) (*profile.Profile, error) {
	query := ""
	if name == "heap" {
		query = "gc=1"
	}
	return r.get(name, query, goruntime.ProfileTime-remoteGrace)
}

func (r *remote) startCPU() error { return nil }

// cpu adds up CPU profiles that follow each other: the page must know each one's length in
// advance. It awaits the one under way when the window ends; the subject is idle by then.
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
		p, err := r.get("profile", fmt.Sprintf("seconds=%d", part/time.Second), part)
		if err != nil && part > time.Second && len(parts) == 0 && !probe.IsTimeout(err) {
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
		return nil, "", cmp.Or(failed, errors.New("the window ended at once"))
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

// TakeProfile asks a service's net/http/pprof, such as http://127.0.0.1:6060/debug/pprof, for
// a profile. For heap the service collects first.
func TakeProfile(url, name string, insecure bool) ([]byte, error) {
	r, err := newRemote(probe.Target{Pprof: url, Insecure: insecure})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	p, err := r.take(name)
	var data []byte
	if err == nil {
		data, err = goruntime.Encode(p)
	}
	if err != nil {
		return nil, fmt.Errorf("take profile %s: %w", name, err)
	}
	return data, nil
}
