package load

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/template"
)

// someNames are an arg, a capture and a table.
func someNames(t testing.TB) *names {
	ts := &tables{all: []table{
		{name: "items", columns: []string{"sku"}, rows: [][]string{{"a1"}, {"b2"}, {"c3"}}},
		{name: "users", columns: []string{"name", "limit"}, rows: [][]string{{"ann", "3"}, {"bob", "5"}}},
	}}
	k := newNames(map[string]string{"size": "40", "who": "x y"}, ts)
	if err := k.capture("id"); err != nil {
		t.Fatal(err)
	}
	return k
}

// someVars are those of client 7 in its third loop, with the first rows.
func someVars(k *names, seed uint64) *vars {
	v := newVars(7, seed, k.arg, k.tables, new(atomic.Int64))
	v.n = 2
	v.captured["id"] = "c-9"
	k.tables.sample(v)
	return v
}

func TestText(t *testing.T) {
	k := someNames(t)
	for _, tt := range []struct {
		in, want string
		simple   bool
	}{
		{"", "", true},
		{"/plain?a={b}", "/plain?a={b}", true},
		{"/{{.n}}/{{.client}}", "/2/7", true},
		{"/{{ .id -}}  /x", "/c-9/x", true},
		{"{{/* said */}}/{{$.id}}", "/c-9", true},
		{"/{{.arg.size}}/{{.arg.who}}", "/40/x y", true},
		{"{{.users.name}} {{.items.sku}} {{.users.limit}}", "ann a1 3", true},
		{"{{counter}} {{counter}}", "0 1", true},
		{"{{random 5 5}} {{random -3 -3}}", "5 -3", true},
		{"{{random .arg.size 40}}", "40", true},
		{`{{"{{"}}.id}}`, "{{.id}}", true},
		{`{{.id}}{{"{{"}}{{.id}}`, "c-9{{c-9", true},

		{`{{printf "%05d" .n}}`, "00002", false},
		{`{{random 7 7 | printf "%03d"}}`, "007", false},
		{`{{printf "%d-%d" counter counter}}`, "0-1", false},
		{`{{if eq .n 0}}first{{else}}{{.id}}{{end}}`, "c-9", false},
		{`{{if eq .n 2}}{{.users.name}}{{end}}`, "ann", false},
		{`{{range $i, $x := .users}}{{$i}}={{$x}};{{end}}`, "limit=3;name=ann;", false},
		{`{{with .arg}}{{.size}}{{end}}`, "40", false},
		{`{{random 3 .users.limit}}`, "3", false},
		{`{{.n | random 2}}`, "2", false},
		{`{{.arg.who | urlquery}}`, "x+y", false},
		{`{{define "a"}}<{{random 4 4}}{{.}}>{{end}}{{template "a" .id}}`, "<4c-9>", false},
		{`{{5}}`, "5", false},
		{`{{1.50}}`, "1.5", false},
	} {
		x, err := parseText("path", tt.in, k)
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		got, err := x.append([]byte("> "), someVars(k, 1))
		if err != nil || string(got) != "> "+tt.want {
			t.Errorf("%s: got %q, %v; want %q", tt.in, got, err, tt.want)
		}
		if simple := x.rest == nil; simple != tt.simple {
			t.Errorf("%s: simple %v, want %v", tt.in, simple, tt.simple)
		}
	}
}

// What does not vary can be rendered once.
func TestTextFixed(t *testing.T) {
	k := someNames(t)
	for in, want := range map[string]string{
		"": "", "/a": "/a", "/{{.arg.size}}/b": "/40/b", literal(`{"a":{{{"b":{}}}}`): `{"a":{{{"b":{}}}}`,
	} {
		x, err := parseText("path", in, k)
		if got, ok := x.fixed(); err != nil || !ok || got != want {
			t.Errorf("%s: got %q, %v, %v", in, got, ok, err)
		}
	}
	for _, in := range []string{"{{.n}}", "a{{.id}}", "{{uuid}}", "{{if true}}a{{end}}"} {
		x, err := parseText("path", in, k)
		if got, ok := x.fixed(); err != nil || ok {
			t.Errorf("%s: is fixed to %q, %v", in, got, err)
		}
	}
	if got, ok := new(text).fixed(); got != "" || !ok {
		t.Error("the zero value is not the empty text")
	}
}

func TestTextMistakes(t *testing.T) {
	k := someNames(t)
	const known = " (known: arg.size, arg.who, client, id, items.sku, n, users.limit, users.name)"
	for _, tt := range []struct{ in, want string }{
		{"/{{.idd}}", `path "/{{.idd}}": unknown variable idd` + known},
		{"{{.arg.sise}}", `path "{{.arg.sise}}": unknown variable arg.sise` + known},
		{"{{.users.nam}}", `path "{{.users.nam}}": unknown variable users.nam` + known},
		{"{{.id.x}}", `path "{{.id.x}}": unknown variable id.x` + known},
		// Where the first request would not come by.
		{"{{if eq .n 99}}{{.idd}}{{end}}", `path "{{if eq .n 99}}{{.idd}}{{end}}": unknown variable idd` + known},
		{"{{with .id}}{{else}}{{(printf $.idd)}}{{end}}", `path "{{with .id}}{{else}}{{(printf $.idd)}}{{end}}": unknown variable idd` + known},
		{"{{with .arg}}{{.sise}}{{end}}", `path "{{with .arg}}{{.sise}}{{end}}": unknown variable sise` + known},
		{"{{random 9 1}}", `path "{{random 9 1}}": random 9 1: the least is above the most`},
		{"{{random 1.5 2}}", `path "{{random 1.5 2}}": random 1.5 2: want two whole numbers`},
		{"{{random 1 .arg.who}}", `path "{{random 1 .arg.who}}": random 1 x y: want two whole numbers`},
		{"{{random 1}}", `path "{{random 1}}": wrong number of arguments of random: 1 (want 2)`},
		{"{{if false}}{{5 | random 1 2}}{{end}}", `path "{{if false}}{{5 | random 1 2}}{{end}}": wrong number of arguments of random: 3 (want 2)`},
		{`{{printf "%d" random}}`, `path "{{printf \"%d\" random}}": wrong number of arguments of random: 0 (want 2)`},
		{"{{counter 1}}", `path "{{counter 1}}": wrong number of arguments of counter: 1 (want 0)`},
		{"{{uid}}", `template: path:1: function "uid" not defined`},
		{"/{{.n", `template: path:1: unclosed action`},
	} {
		_, err := parseText("path", tt.in, k)
		if err == nil || err.Error() != tt.want {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
		if strings.Contains(tt.want, "unknown variable") && !errors.As(err, new(*unknownError)) {
			t.Errorf("%v is no unknownError", err)
		}
	}
	for _, name := range []string{"n", "arg", "users"} {
		if err := k.capture(name); err == nil {
			t.Errorf("a capture may be called %s", name)
		}
	}
}

// A capture may fail, and then only the request that needs it does.
func TestTextWithoutValue(t *testing.T) {
	k := someNames(t)
	for _, in := range []string{"a{{.id}}", `{{printf "%s" .id}}`} {
		x, err := parseText("path", in, k)
		if err != nil {
			t.Fatal(err)
		}
		v := someVars(k, 1)
		delete(v.captured, "id")
		got, err := x.append([]byte("<"), v)
		var u *unknownError
		if !errors.As(err, &u) || u.name != "id" || string(got) != "<" {
			t.Errorf("%s: got %q, %v", in, got, err)
		}
	}
	// Before the first row is taken.
	x, _ := parseText("path", "{{.users.name}}", k)
	v := newVars(0, 0, nil, k.tables, nil)
	if _, err := x.append(nil, v); err == nil || err.Error() != "unknown variable users.name" {
		t.Errorf("a row that was not taken: %v", err)
	}
}

func TestTextAllocatesNothing(t *testing.T) {
	k := someNames(t)
	x, err := parseText("path", "/{{.n}}/{{.client}}/{{.id}}/{{.arg.size}}/{{.users.name}}?c={{counter}}&u={{uuid}}&r={{random 1 1000000}}", k)
	if err != nil {
		t.Fatal(err)
	}
	v := someVars(k, 1)
	buf := make([]byte, 0, 200)
	if n := testing.AllocsPerRun(100, func() {
		k.tables.take(v)
		buf, err = x.append(buf[:0], v)
	}); n != 0 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
}

func TestRandom(t *testing.T) {
	k := someNames(t)
	render := func(in string, v *vars) string {
		x, err := parseText("path", in, k)
		if err != nil {
			t.Fatal(err)
		}
		b, err := x.append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	seen := map[string]int{}
	v := someVars(k, 1)
	x, _ := parseText("path", "{{random -1 2}}", k)
	for range 4000 {
		b, _ := x.append(nil, v)
		seen[string(b)]++
	}
	if len(seen) != 4 || min(seen["-1"], seen["0"], seen["1"], seen["2"]) < 850 { // 5.5 standard deviations
		t.Errorf("4000 random numbers from -1 to 2: %v", seen)
	}
	least, span, err := bounds(math.MinInt, math.MaxInt)
	if a, b := v.random(least, span), v.random(least, span); err != nil || a == b {
		t.Errorf("of all numbers twice %d, %v", a, err)
	}

	const all = "{{random 0 1000000000}} {{uuid}}"
	same, other := render(all, someVars(k, 1)), render(all, someVars(k, 2))
	if again := render(all, someVars(k, 1)); same != again || same == other {
		t.Errorf("seed 1 gives %s and %s, seed 2 %s", same, again, other)
	}
	if client := render(all, newVars(8, 1, nil, nil, nil)); client == same {
		t.Errorf("client 8 gets what client 7 does: %s", same)
	}
	form := regexp.MustCompile("^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
	uuids := map[string]bool{}
	for range 100 {
		id := render("{{uuid}}", v)
		if uuids[id] = true; !form.MatchString(id) {
			t.Fatalf("%s is no UUID of version 4", id)
		}
	}
	if len(uuids) != 100 {
		t.Error("a UUID came twice")
	}
}

// Clients share the templates and the counter, and nothing else.
func TestTextOfManyClients(t *testing.T) {
	k := someNames(t)
	for _, in := range []string{"{{counter}} {{.client}} {{.id}}", `{{printf "%d" counter}} {{.client}} {{.id}}`} {
		x, err := parseText("path", in, k)
		if err != nil {
			t.Fatal(err)
		}
		const clients, each = 8, 50
		var counter atomic.Int64
		var all sync.WaitGroup
		got := make([][]string, clients)
		for c := range clients {
			all.Go(func() {
				v := newVars(c, 1, nil, nil, &counter)
				v.captured["id"] = fmt.Sprint("id", c)
				for range each {
					b, err := x.append(nil, v)
					count, rest, _ := strings.Cut(string(b), " ")
					if want := fmt.Sprintf("%d id%d", c, c); err != nil || rest != want {
						t.Errorf("client %d got %q, %v", c, b, err)
					}
					got[c] = append(got[c], count)
				}
			})
		}
		all.Wait()
		counts := slices.Concat(got...)
		slices.Sort(counts)
		if n := len(slices.Compact(counts)); n != clients*each || !slices.Contains(counts, "0") || !slices.Contains(counts, fmt.Sprint(n-1)) {
			t.Errorf("%s: %d different counts", in, n)
		}
	}
}

// FuzzText: what is rendered part by part is what text/template renders, and a
// literal stays itself.
func FuzzText(f *testing.F) {
	for _, s := range []string{"/{{.n}}", "{{- .id -}} {", `{{"{{"}}`, "{{random 1 0x10}} {{random 1e3 'z'}}", "{{.users.name}}{{counter}}{{uuid}}", "{{{.n}}", "{{/* */}}{{.arg.size}}", "a{{{{b\xff"} {
		f.Add(s)
	}
	k := someNames(f)
	f.Fuzz(func(t *testing.T, s string) {
		x, err := parseText("path", literal(s), k)
		if got, ok := x.fixed(); err != nil || !ok || got != s {
			t.Fatalf("%q as a literal is %q, %v, %v", s, got, ok, err)
		}
		if strings.Contains(s, "range") || strings.Contains(s, "template") || strings.Contains(s, "block") {
			return // may take for ever
		}
		x, err = parseText("path", s, k)
		if err != nil || x.rest != nil || !strings.Contains(s, "{{") {
			return
		}
		got, err1 := x.append(nil, someVars(k, 3))
		tmpl := template.Must(template.New("path").Option("missingkey=error").Funcs(new(execution).functions()).Parse(s))
		want, err2 := newProgram(tmpl).append(nil, someVars(k, 3))
		if string(got) != string(want) || err1 != nil || err2 != nil {
			t.Fatalf("%q: %q, %v; text/template: %q, %v", s, got, err1, want, err2)
		}
	})
}

func BenchmarkText(b *testing.B) {
	k := someNames(b)
	for name, s := range map[string]string{
		"parts":         "/sessions/{{.id}}?n={{.n}}&user={{.users.name}}&r={{random 1 100}}",
		"text/template": `/sessions/{{.id}}?n={{printf "%d" .n}}&user={{.users.name}}&r={{random 1 100}}`,
	} {
		x, err := parseText("path", s, k)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			v := someVars(k, 1)
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				if buf, err = x.append(buf[:0], v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
