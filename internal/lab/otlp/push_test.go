package otlp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/load"
)

// What a collector reads of a push.
type (
	request struct {
		ResourceMetrics []struct {
			Resource     struct{ Attributes []attributeRead }
			ScopeMetrics []struct {
				Scope   struct{ Name, Version string }
				Metrics []struct {
					Name, Description, Unit string
					Gauge                   struct {
						DataPoints []struct {
							Attributes []attributeRead
							Time       int64   `json:"timeUnixNano,string"`
							Value      float64 `json:"asDouble"`
						}
					}
				}
			}
		}
	}
	attributeRead struct {
		Key   string `json:"key"`
		Value struct {
			String *string `json:"stringValue,omitempty"`
			Int    string  `json:"intValue,omitempty"`
		} `json:"value"`
	}
)

// A transport is a collector without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}
}

// testPusher pushes to f, and keeps its notes.
func testPusher(t *testing.T, f transport) (p *pusher, notes *[]string) {
	t.Helper()
	var to Target
	if err := to.Set("http://user:secret@collector:4318"); err != nil {
		t.Fatal(err)
	}
	notes = new([]string)
	p = newPusher(to.URL, "sessions", "test", func(format string, args ...any) { *notes = append(*notes, fmt.Sprintf(format, args...)) })
	p.client.Transport = f
	return p, notes
}

// gauges are the values of a push by name. It fails on what the format has not.
func gauges(t *testing.T, r io.Reader) (map[string]float64, []attributeRead) {
	t.Helper()
	in := json.NewDecoder(r)
	in.DisallowUnknownFields()
	var req request
	if err := in.Decode(&req); err != nil {
		t.Fatal(err)
	}
	if len(req.ResourceMetrics) != 1 || len(req.ResourceMetrics[0].ScopeMetrics) != 1 {
		t.Fatalf("got %+v", req)
	}
	of := map[string]float64{}
	var where []attributeRead
	for _, m := range req.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		if len(m.Gauge.DataPoints) != 1 {
			t.Fatalf("%d points of %s", len(m.Gauge.DataPoints), m.Name)
		}
		point := m.Gauge.DataPoints[0]
		if since := time.Since(time.Unix(0, point.Time)); since.Abs() > time.Hour || m.Unit == "" || m.Description == "" {
			t.Errorf("metric %+v", m)
		}
		of[m.Name], where = point.Value, point.Attributes
	}
	return of, where
}

// trialOf is the second trial of an experiment, and its meter.
func trialOf() (*dyno.Trial, *load.Meter) {
	return &dyno.Trial{N: 2, Block: 1, Setting: dyno.Setting{{Factor: "GOGC", Value: "50"}}}, new(load.Meter)
}

// second is a second of n requests that took d.
func second(n int, d time.Duration) *hist.Histogram {
	h := hist.New()
	for range n {
		h.Add(d)
	}
	return h
}

// Every five seconds the collector is told what was seen since it was told last; and
// once more when the run is over.
func TestPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []map[string]float64
		var where []attributeRead
		p, notes := testPusher(t, func(r *http.Request) (*http.Response, error) {
			if r.URL.Path != "/v1/metrics" || r.Method != "POST" || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %s, %v", r.Method, r.URL, r.Header)
			}
			of, at := gauges(t, r.Body)
			got, where = append(got, of), at
			return answer(200, "{}"), nil
		})
		p.pushing.Go(p.run)
		trial, meter := trialOf()
		p.begin(trial, meter)
		time.Sleep(7500 * time.Millisecond) // which the subject takes to start: nothing is told
		meter.Enter("measure")
		for i := range 8 {
			time.Sleep(time.Second)
			p.sample(trial, "prometheus", "rss-B", 1)
			p.sample(trial, "proc", "rss-B", float64(100+i))
			p.sample(trial, "prometheus", "rss-B", 1)
			p.second(trial, second(50, 2*time.Millisecond), time.Duration(i)*time.Second, time.Duration(i+1)*time.Second)
		}
		meter.Failed.Store(3)
		meter.Enter("teardown")
		p.close()
		if len(got) != 3 || len(*notes) > 0 {
			t.Fatalf("%d pushes: %v; notes %q", len(got), got, *notes)
		}
		for i, want := range []map[string]float64{
			{"dyno.req_per_s": 50, "dyno.rss": 101, "dyno.failures": 0},
			{"dyno.req_per_s": 50, "dyno.rss": 106, "dyno.failures": 0},
			{"dyno.req_per_s": 50, "dyno.rss": 107, "dyno.failures": 3, "dyno.p50": 0.002, "dyno.p99": 0.002},
		} {
			for name, v := range want {
				if g, ok := got[i][name]; !ok || g < v*0.99 || g > v*1.01 {
					t.Errorf("push %d: %s is %v, want %v: %v", i, name, g, v, got[i])
				}
			}
		}
		text, _ := json.Marshal(where)
		for _, want := range []string{`"dyno.run","value":{"stringValue":"sessions"}`, `"dyno.trial","value":{"intValue":"2"}`, `"dyno.factor.GOGC","value":{"stringValue":"50"}`} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s is not in %s", want, text)
			}
		}
	})
}

// A collector that hangs delays nothing while the run lasts nor at its end; one that
// refuses is noted once. Nothing piles up meanwhile, and no password is told.
func TestPushFails(t *testing.T) {
	for name, c := range map[string]struct {
		collector transport
		note      string
	}{
		"hangs": {func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, "no answer in time"},
		"is not there": {func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }, "connection refused"},
		"refuses":      {func(*http.Request) (*http.Response, error) { return answer(503, ""), nil }, "status 503 Service Unavailable"},
		"redirects":    {func(*http.Request) (*http.Response, error) { return answer(302, ""), nil }, "status 302 Found"},
		"rejects some": {func(*http.Request) (*http.Response, error) {
			return answer(200, `{"partialSuccess":{"rejectedDataPoints":"2","errorMessage":"too \u001b[31mmany"}}`), nil
		}, `rejected some metrics: "too \x1b[31mmany"`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pushes := 0
				p, notes := testPusher(t, func(r *http.Request) (*http.Response, error) { pushes++; return c.collector(r) })
				p.pushing.Go(p.run)
				trial, meter := trialOf()
				p.begin(trial, meter)
				meter.Enter("measure")
				for i := range 33 {
					time.Sleep(time.Second)
					before := time.Now()
					p.second(trial, second(50, time.Millisecond), time.Duration(i)*time.Second, time.Duration(i+1)*time.Second)
					p.sample(trial, "proc", "rss-B", 1)
					if took := time.Since(before); took > 0 {
						t.Errorf("the run waited %v", took)
					}
				}
				before := time.Now()
				p.close()
				if took := time.Since(before); took > 0 {
					t.Errorf("its end waited %v", took)
				}
				if len(*notes) != 1 || !strings.Contains((*notes)[0], c.note) || strings.Contains((*notes)[0], "secret") {
					t.Errorf("notes %q", *notes)
				}
				if pushes != 6 {
					t.Errorf("tried %d times", pushes)
				}
				if n := p.trials[0].latency.Count(); n > 5*50 {
					t.Errorf("%d latencies were kept", n)
				}
			})
		})
	}
}

// A short run does not end before its only push, but waits for no more than a second.
func TestPushShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := testPusher(t, func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		p.pushing.Go(p.run)
		trial, meter := trialOf()
		p.begin(trial, meter)
		p.second(trial, second(5, time.Millisecond), 0, time.Second)
		before := time.Now()
		p.close()
		if took := time.Since(before); took != pushLast {
			t.Errorf("waited %v", took)
		}
	})
}

// What a trial saw is not told of the next, and what is no number is not told.
func TestPushBegins(t *testing.T) {
	p, _ := testPusher(t, nil)
	trial, meter := trialOf()
	p.begin(trial, meter)
	p.second(trial, second(5, time.Millisecond), 0, time.Second)
	p.sample(trial, "proc", "rss-B", 1)
	next, meter := trialOf()
	p.begin(next, meter)
	zero := 0.0
	p.sample(next, "proc", "heap-B", 1/zero)
	if ms := p.take(time.Now()); len(ms) > 0 {
		t.Errorf("told %+v", ms)
	}
}

// Of trials side by side each has points of its own: a rate of its own time, in which it is
// its turn, its latency and its memory. When trials of another block begin, or one begins
// alone, nothing of those before is kept.
func TestPushBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var body string
		p, notes := testPusher(t, func(r *http.Request) (*http.Response, error) {
			text, err := io.ReadAll(r.Body)
			body = string(text)
			return answer(200, "{}"), err
		})
		at := func(n, block int, gogc string) (*dyno.Trial, *load.Meter) {
			return &dyno.Trial{N: n, Block: block, Setting: dyno.Setting{{Factor: "GOGC", Value: gogc}}}, new(load.Meter)
		}
		a, ofA := at(3, 2, "50")
		b, ofB := at(4, 2, "100")
		p.begin(a, ofA)
		p.begin(b, ofB)
		work := func(t *dyno.Trial, m *load.Meter, rss float64, n int, d time.Duration) {
			copied := *t // the lab has its own
			p.sample(&copied, "proc", "rss-B", rss)
			p.second(&copied, second(n, d), 0, 0)
		}
		// Here a window lasts as its meter says; that turns do not count is tested in load.
		ofA.Enter("measure")
		time.Sleep(2 * time.Second)
		ofB.Enter("measure")
		time.Sleep(2 * time.Second)
		work(a, ofA, 1000, 400, time.Millisecond)
		work(b, ofB, 2000, 100, 4*time.Millisecond)
		ofB.Failed.Store(7)
		p.push(t.Context(), time.Minute)
		got := pointsOf(t, body)
		for _, want := range []string{
			"dyno.req_per_s trial 3 GOGC=50: 1e+02", "dyno.req_per_s trial 4 GOGC=100: 50",
			"dyno.p50 trial 3 GOGC=50: 0.001", "dyno.p50 trial 4 GOGC=100: 0.004",
			"dyno.failures trial 3 GOGC=50: 0", "dyno.failures trial 4 GOGC=100: 7",
			"dyno.rss trial 3 GOGC=50: 1e+03", "dyno.rss trial 4 GOGC=100: 2e+03",
		} {
			if !slices.Contains(got, want) {
				t.Errorf("%q is not in %q", want, got)
			}
		}
		if len(got) != 12 || len(*notes) > 0 {
			t.Errorf("%d points %q, notes %q", len(got), got, *notes)
		}

		work(b, ofB, 2000, 100, time.Millisecond)
		c, ofC := at(6, 3, "100")
		d, ofD := at(5, 3, "50")
		p.begin(c, ofC)
		p.begin(d, ofD)
		work(a, ofA, 1, 1, time.Millisecond) // who is late
		p.sample(d, "proc", "rss-B", 3000)
		p.push(t.Context(), time.Minute)
		if got := pointsOf(t, body); !slices.Equal(got, []string{"dyno.rss trial 5 GOGC=50: 3e+03"}) {
			t.Errorf("of the next block: %q", got)
		}
		ofC.Enter("start")
		ofD.Enter("start")
		for range 3 { // the same block anew, one trial after the other
			for _, again := range []*dyno.Trial{c, d} {
				m := new(load.Meter)
				p.begin(again, m)
				m.Enter("start")
				if len(p.trials) != 1 || p.trials[0].Trial != again {
					t.Fatalf("%d trials are kept", len(p.trials))
				}
			}
		}
	})
}

// pointsOf are all points of a push, with two digits.
func pointsOf(t *testing.T, body string) (all []string) {
	t.Helper()
	var req request
	if err := json.Unmarshal([]byte(body), &req); err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range req.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		if named[m.Name] {
			t.Errorf("%s comes twice", m.Name)
		}
		named[m.Name] = true
		for _, point := range m.Gauge.DataPoints {
			of := map[string]string{}
			for _, a := range point.Attributes {
				if of[a.Key] = a.Value.Int; a.Value.String != nil {
					of[a.Key] = *a.Value.String
				}
			}
			all = append(all, fmt.Sprintf("%s trial %s GOGC=%s: %.2g", m.Name, of["dyno.trial"], of["dyno.factor.GOGC"], point.Value))
		}
	}
	return all
}

// Headers come from the environment, as the standard has it.
func TestPushHeader(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, x-tenant = t1,broken")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("api-key") != "a b" || r.Header.Get("X-Tenant") != "t1" || r.URL.Path != "/own/path" {
			t.Errorf("%s with %v", r.URL, r.Header)
		}
	}))
	defer s.Close()
	var to Target
	if err := to.Set(s.URL + "/own/path"); err != nil {
		t.Fatal(err)
	}
	p := newPusher(to.URL, "x", "test", t.Errorf)
	trial, meter := trialOf()
	p.begin(trial, meter)
	p.sample(trial, "proc", "rss-B", 1)
	p.push(t.Context(), time.Minute)
	for _, bad := range []string{"collector:4318", "grpc://collector", "http://"} {
		if err := to.Set(bad); err == nil {
			t.Errorf("%q is a URL", bad)
		}
	}
}

// Every series that is pushed is one that a probe may report, under a name of its own.
func TestPushNames(t *testing.T) {
	var names []string
	for _, s := range pushed {
		names = append(names, s.name)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(pushed) {
		t.Error("two series have one name")
	}
}

// BenchmarkPush is what five seconds of a trial cost dyno.
func BenchmarkPush(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
	defer s.Close()
	var to Target
	to.Set(s.URL)
	p := newPusher(to.URL, "x", "test", b.Errorf)
	trial, meter := trialOf()
	p.begin(trial, meter)
	h := second(1000, time.Millisecond)
	for b.Loop() {
		for i := range 5 {
			p.second(trial, h, time.Duration(i)*time.Second, time.Duration(i+1)*time.Second)
			for _, s := range pushed {
				p.sample(trial, "proc", s.series, 1)
			}
		}
		p.push(b.Context(), time.Minute)
	}
}
