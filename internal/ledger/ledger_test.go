package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// writerVariable makes the test binary a process that adds lines; see writer.
const writerVariable = "LEDGER_TEST_WRITER"

func TestMain(m *testing.M) {
	for name, value := range map[string]string{"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1"} { // no user.name, for one
		os.Setenv(name, value)
	}
	if dir := os.Getenv(writerVariable); dir != "" {
		writer(dir)
		return
	}
	os.Exit(m.Run())
}

// line is one of a minute of 2026, in text.
func line(minute int, text string) json.RawMessage {
	at := time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC).Format(time.RFC3339)
	return json.RawMessage(fmt.Sprintf(`{"at":%q,"text":%q}`, at, text))
}

func open(t testing.TB, place, dir string) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), place, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func add(t testing.TB, l *Ledger, lines ...json.RawMessage) {
	t.Helper()
	if err := l.Add(t.Context(), lines); err != nil {
		t.Fatal(err)
	}
}

// texts are all lines of a ledger. None is broken.
func texts(t testing.TB, l *Ledger) (all []string) {
	t.Helper()
	lines, skipped, err := l.Read(context.WithoutCancel(t.Context())) // of a cleanup, too
	if err != nil || skipped != (Skipped{}) {
		t.Fatalf("skipped %+v, %v", skipped, err)
	}
	for _, l := range lines {
		all = append(all, string(l.JSON))
	}
	return all
}

func want(t testing.TB, l *Ledger, lines ...json.RawMessage) {
	t.Helper()
	var all []string
	for _, l := range lines {
		all = append(all, string(l))
	}
	if got := texts(t, l); !slices.Equal(got, all) {
		t.Errorf("%s has %q, want %q", l, got, all)
	}
}

// eachPlace tests an empty ledger of each kind; put writes a file into it as another program would.
func eachPlace(t *testing.T, test func(t *testing.T, l *Ledger, put func(name, text string))) {
	t.Run("repository", func(t *testing.T) {
		dir := repositoryOf(t)
		test(t, open(t, "", dir), func(name, text string) {
			pointTo(t, dir, "100644 blob "+gitIn(t, dir, text, "hash-object", "-w", "--stdin")+"\t"+name+"\n")
		})
	})
	t.Run("directory", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "new", "one")
		test(t, open(t, dir, ""), func(name, text string) { write(t, filepath.Join(dir, name), text) })
	})
	t.Run("server", func(t *testing.T) {
		b := &bucket{}
		s := httptest.NewServer(b)
		t.Cleanup(s.Close)
		test(t, open(t, s.URL+"/track", ""), func(name, text string) {
			b.put("/track/index.json", `{"months":["`+name+`"]}`)
			b.put("/track/"+name, text)
		})
	})
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func TestAdd(t *testing.T) {
	eachPlace(t, func(t *testing.T, l *Ledger, _ func(name, text string)) {
		want(t, l)
		var (
			late   = json.RawMessage(`{"at":"2026-12-01T00:30:00+01:00","of":"November, in UTC"}`)
			first  = json.RawMessage(`{"at":"2026-11-21T10:00:00Z","n":1}`)
			second = json.RawMessage(`{"at":"2026-11-21T10:00:00Z","n":2}`)
			old    = json.RawMessage(`{"n":0,"at":"2024-02-29T23:59:59.5-08:00"}`)
		)
		add(t, l, late, second)
		add(t, l, first, old, json.RawMessage("{\n\t\"at\": \"2026-11-21T10:00:00Z\",\n\t\"n\": 2\n}\n"), first)
		want(t, l, old, first, second, late)
		lines, _, err := l.Read(t.Context())
		if err != nil || !lines[3].At.Equal(time.Date(2026, 11, 30, 23, 30, 0, 0, time.UTC)) || lines[3].At.Location() != time.UTC {
			t.Errorf("%v, %v", lines, err)
		}
		for text, want := range map[string]string{
			`{"at":"2026-11-21T10:00:00Z"`:        "unexpected end of JSON",
			`[]`:                                  "no time",
			`"at"`:                                "no time",
			`{"x":{"at":"2026-11-21T10:00:00Z"}}`: "no time",
			`{"At":"2026-11-21T10:00:00Z"}`:       "no time",
			`{"at":1,"x":"2026-11-21T10:00:00Z"}`: "no time",
			`{"at":"yesterday"}`:                  `no time of RFC 3339: yesterday`,
			`{"at":"0000-01-01T00:00:00+01:00"}`:  "the year",
		} {
			err := l.Add(t.Context(), []json.RawMessage{line(0, "not added"), json.RawMessage(text)})
			if err == nil || !strings.Contains(err.Error(), "add line 2 of 2 to "+l.String()) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", text, err, want)
			}
		}
		add(t, l)
		want(t, l, old, first, second, late)
	})
}

// A broken line costs no other line, and whoever can mend it still finds it.
func TestBrokenLine(t *testing.T) {
	eachPlace(t, func(t *testing.T, l *Ledger, put func(name, text string)) {
		add(t, l)
		a, b, c := line(1, "a"), line(2, "b"), line(3, "c")
		put("2026-01.jsonl", string(b)+"\r\n\n"+string(a)+"\n<<<<<<< HEAD\n{\"at\":\n"+string(a)) // cut off
		for range 2 {
			lines, skipped, err := l.Read(t.Context())
			if err != nil || len(lines) != 2 || string(lines[0].JSON) != string(a) || skipped != (Skipped{2, "2026-01.jsonl", 4}) {
				t.Errorf("%q, %+v, %v", lines, skipped, err)
			}
		}
		add(t, l, c)
		lines, skipped, err := l.Read(t.Context())
		if err != nil || len(lines) != 3 || string(lines[2].JSON) != string(c) || skipped != (Skipped{2, "2026-01.jsonl", 1}) {
			t.Errorf("%q, %+v, %v", lines, skipped, err)
		}
	})
}

// The order in which ledgers are merged does not matter.
func TestUnion(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	some := func() (lines [][]byte) {
		for range random.IntN(6) {
			lines = append(lines, line(random.IntN(3), string(rune('a'+random.IntN(3)))))
		}
		return append(lines, []byte("broken"))
	}
	for range 200 {
		a, b, c := some(), some(), some()
		ab, _, _ := union(nil, append(slices.Clone(a), b...)...)
		one, _, _ := union(ab, c...)
		ca, _, _ := union(nil, append(slices.Clone(c), a...)...)
		two, added, _ := union(ca, b...)
		if string(one) != string(two) {
			t.Fatalf("%q and %q", one, two)
		}
		if n := strings.Count(string(two), "\n") - strings.Count(string(ca), "\n"); added != n {
			t.Fatalf("%d added, want %d", added, n)
		}
		if again, added, _ := union(one, b...); string(again) != string(one) || added != 0 {
			t.Fatalf("%q became %q", one, again)
		}
	}
	if _, _, err := union(nil, make([]byte, mostBytes+1)); err == nil {
		t.Error("a file that would be too large to read was made")
	}
}

func FuzzTimeOf(f *testing.F) {
	for _, seed := range []string{`{"at":"2026-11-21T10:00:00Z"}`, `{"a":["at",{"at":"x"}], "at" : "2026-11-21T10:00:00+01:00","b":"\"at\":"}`, `{"a\\":"\\","at":null}`, `["at"]`, `{"at":{"x":"y"}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		at, err := timeOf(data)
		if err != nil {
			return
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(data, &object); err != nil {
			t.Fatalf("%q is a line: %v", data, err)
		}
		if strings.Count(string(data), `at"`) > 1 || strings.Contains(string(data), `\`) {
			return // the first of two counts here, the last one there
		}
		var want time.Time
		if err := json.Unmarshal(object["at"], &want); err != nil || !want.Equal(at) {
			t.Fatalf("%q is of %v, want %v, %v", data, at, want, err)
		}
	})
}

func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	for _, x := range []struct{ place, dir, ref, want string }{
		{"ftp://bucket/track", "", "", "dyno cannot reach ftp://"},
		{"http://user:hunter2@%zz/", "", "", "the URL cannot be read"},
		{"https:///track", "", "", "the URL cannot be read"},
		{file, "", "", "is not a directory"},
		{"", t.TempDir(), "", "not a git repository"},
		{"", repositoryOf(t), "main", "main is no name of a ref"},
		{"", repositoryOf(t), "refs/a..b", "refs/a..b is no name of a ref"},
	} {
		_, err := Open(t.Context(), x.place, x.dir, x.ref)
		if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, want %s", x.place, err, x.want)
		}
	}
}

// Whoever loses races goes on for a while, and not if nobody else is there.
func TestContend(t *testing.T) {
	tries := 0
	lose := func(met func() string) error {
		tries = 0
		return contend(t.Context(), func() error {
			tries++
			return fmt.Errorf("wrapped: %w", &lostError{met(), errors.New("lost")})
		})
	}
	if err := lose(func() string { return "the same" }); err == nil || tries != mostSame {
		t.Errorf("%d tries, %v", tries, err)
	}
	if err := lose(unlike); err == nil || tries != mostTries || !strings.Contains(err.Error(), "others were faster 12 times") {
		t.Errorf("%d tries, %v", tries, err)
	}
	if err := contend(t.Context(), func() error { return errors.New("no race") }); err == nil || err.Error() != "no race" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := contend(ctx, func() error { cancel(); return &lostError{"", ctx.Err()} })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
