package texts

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/template"
)

// someNames are an arg, a capture and a table.
func someNames(t testing.TB) *Names {
	ts := &Tables{all: []table{
		{name: "items", columns: []string{"sku"}, rows: [][]string{{"a1"}, {"b2"}, {"c3"}}},
		{name: "users", columns: []string{"name", "limit"}, rows: [][]string{{"ann", "3"}, {"bob", "5"}}},
	}}
	k := NewNames(map[string]string{"size": "40", "who": "x y"}, ts)
	if err := k.Capture("id"); err != nil {
		t.Fatal(err)
	}
	return k
}

// someVars are those of client 7 in its third loop, with the first rows.
func someVars(k *Names, seed uint64) *Vars {
	v := NewVars(7, seed, k.tables, new(Count))
	v.n = 2
	v.Captured["id"] = "c-9"
	k.tables.next.taken.Store(0)
	k.tables.Take(v)
	return v
}

func TestText(t *testing.T) {
	k := someNames(t)
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"/plain?a={b}", "/plain?a={b}"},
		{"/{{.n}}/{{.client}}", "/2/7"},
		{"/{{ .id }}/x", "/c-9/x"},
		{"/{{.arg.size}}/{{.arg.who}}", "/40/x y"},
		{"{{.users.name}} {{.items.sku}} {{.users.limit}}", "ann a1 3"},
		{"{{counter}} {{counter}}", "0 1"},
		{"{{random 5 5}} {{random -3 -3}} {{ random 1000 1000 }}", "5 -3 1000"},
		{"{{random .arg.size 40}}", "40"},
		{`{{"{{"}}.id}}`, "{{.id}}"},
		{`{{.id}}{{"{{"}}{{.id}}`, "c-9{{c-9"},
		{`{"n":{{.n}},"s":{"id":"{{.id}}"}}`, `{"n":2,"s":{"id":"c-9"}}`},
	} {
		x, err := Parse("path", tt.in, k)
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		got, err := x.Append([]byte("> "), someVars(k, 1))
		if err != nil || string(got) != "> "+tt.want {
			t.Errorf("%s: got %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
}

// What does not vary can be rendered once.
func TestTextFixed(t *testing.T) {
	k := someNames(t)
	for in, want := range map[string]string{
		"": "", "/a": "/a", "/{{.arg.size}}/b": "/40/b", Literal(`{"a":{{{"b":{}}}}`): `{"a":{{{"b":{}}}}`,
	} {
		x, err := Parse("path", in, k)
		if got, ok := x.Fixed(); err != nil || !ok || got != want {
			t.Errorf("%s: got %q, %v, %v", in, got, ok, err)
		}
	}
	for _, in := range []string{"{{.n}}", "a{{.id}}", "{{uuid}}", "{{random 1 2}}"} {
		x, err := Parse("path", in, k)
		if got, ok := x.Fixed(); err != nil || ok {
			t.Errorf("%s: is fixed to %q, %v", in, got, err)
		}
	}
}

func TestTextMistakes(t *testing.T) {
	k := someNames(t)
	const (
		known       = " (known: arg.size, arg.who, client, id, items.sku, n, users.limit, users.name)"
		unsupported = " is neither a variable nor a function call; templates have no conditions, loops or pipelines " +
			"(want {{.NAME}}, {{counter}}, {{uuid}} or {{random LO HI}}; consider: a column of data, or one step for each case)"
	)
	for _, tt := range []struct{ in, want string }{
		{"/{{.idd}}", `path "/{{.idd}}": unknown variable idd` + known},
		{"{{.arg.sise}}", `path "{{.arg.sise}}": unknown variable arg.sise` + known},
		{"{{.arg}}", `path "{{.arg}}": unknown variable arg` + known},
		{"{{.users.nam}}", `path "{{.users.nam}}": unknown variable users.nam` + known},
		{"{{.users}}", `path "{{.users}}": unknown variable users` + known},
		{"{{.id.x}}", `path "{{.id.x}}": unknown variable id.x` + known},
		{"{{random 1 .idd}}", `path "{{random 1 .idd}}": unknown variable idd` + known},
		{"{{random 9 1}}", `path "{{random 9 1}}": random 9 1: the first number is above the second`},
		{"{{random 1.5 2}}", `path "{{random 1.5 2}}": random 1.5 2: want two whole numbers`},
		{"{{random 1 .arg.who}}", `path "{{random 1 .arg.who}}": random 1 x y: want two whole numbers`},
		{"{{random 1 .id}}", `path "{{random 1 .id}}": random 1 .id: want two whole numbers`},
		{"{{random 1}}", `path "{{random 1}}": {{random 1}}` + unsupported},
		{"{{counter 1}}", `path "{{counter 1}}": {{counter 1}}` + unsupported},
		{"{{uid}}", `path "{{uid}}": {{uid}}` + unsupported},
		{"/{{.n", `path "/{{.n": "{{.n" is not closed (want }}; consider: {{"{{"}} to send two braces)`},
		{`{{"a}}`, `path "{{\"a}}": {{"a}}` + unsupported},
		// What text/template has and a plan has not.
		{"{{if eq .n 0}}a{{end}}", `path "{{if eq .n 0}}a{{end}}": {{if eq .n 0}}` + unsupported},
		{"{{range .users}}", `path "{{range .users}}": {{range .users}}` + unsupported},
		{"{{.n | random 2}}", `path "{{.n | random 2}}": {{.n | random 2}}` + unsupported},
		{"{{uuid | printf}}", `path "{{uuid | printf}}": {{uuid | printf}}` + unsupported},
		{`{{printf "%05d" .n}}`, `path "{{printf \"%05d\" .n}}": {{printf "%05d" .n}}` + unsupported},
		{"{{$.id}}", `path "{{$.id}}": {{$.id}}` + unsupported},
		{"{{- .id}}", `path "{{- .id}}": {{- .id}}` + unsupported},
		{"{{/* said */}}", `path "{{/* said */}}": {{/* said */}}` + unsupported},
		{"{{}}", `path "{{}}": {{}}` + unsupported},
		{"{{5}}", `path "{{5}}": {{5}}` + unsupported},
	} {
		_, err := Parse("path", tt.in, k)
		if err == nil || err.Error() != tt.want {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
		if strings.Contains(tt.want, "unknown variable") && !errors.As(err, new(*UnknownError)) {
			t.Errorf("%v is no unknownError", err)
		}
	}
	for _, name := range []string{"n", "arg", "users"} {
		if err := k.Capture(name); err == nil {
			t.Errorf("a capture may be called %s", name)
		}
	}
}

// A capture may fail, and then only the request that needs it does.
func TestTextWithoutValue(t *testing.T) {
	k := someNames(t)
	x, err := Parse("path", "a{{.id}}", k)
	if err != nil {
		t.Fatal(err)
	}
	v := someVars(k, 1)
	delete(v.Captured, "id")
	got, err := x.Append([]byte("<"), v)
	var u *UnknownError
	if !errors.As(err, &u) || u.Name != "id" || string(got) != "<" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTextAllocatesNothing(t *testing.T) {
	k := someNames(t)
	x, err := Parse("path", "/{{.n}}/{{.client}}/{{.id}}/{{.arg.size}}/{{.users.name}}?c={{counter}}&u={{uuid}}&r={{random 1 1000000}}", k)
	if err != nil {
		t.Fatal(err)
	}
	v := someVars(k, 1)
	buf := make([]byte, 0, 200)
	if n := testing.AllocsPerRun(100, func() {
		k.tables.Take(v)
		buf, err = x.Append(buf[:0], v)
	}); n != 0 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
}

func TestRandom(t *testing.T) {
	k := someNames(t)
	render := func(in string, v *Vars) string {
		x, err := Parse("path", in, k)
		if err != nil {
			t.Fatal(err)
		}
		b, err := x.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	seen := map[string]int{}
	v := someVars(k, 1)
	x, _ := Parse("path", "{{random -1 2}}", k)
	for range 4000 {
		b, _ := x.Append(nil, v)
		seen[string(b)]++
	}
	if len(seen) != 4 || min(seen["-1"], seen["0"], seen["1"], seen["2"]) < 850 { // 5.5 standard deviations
		t.Errorf("4000 random numbers from -1 to 2: %v", seen)
	}
	every := fmt.Sprintf("{{random %d %d}}", math.MinInt, math.MaxInt)
	if a, b := render(every, v), render(every, v); a == b {
		t.Errorf("of all numbers twice %s", a)
	}

	const all = "{{random 0 1000000000}} {{uuid}}"
	same, other := render(all, someVars(k, 1)), render(all, someVars(k, 2))
	if again := render(all, someVars(k, 1)); same != again || same == other {
		t.Errorf("seed 1 gives %s and %s, seed 2 %s", same, again, other)
	}
	if client := render(all, NewVars(8, 1, nil, nil)); client == same {
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
	for _, in := range []string{"{{counter}} {{.client}} {{.id}}"} {
		x, err := Parse("path", in, k)
		if err != nil {
			t.Fatal(err)
		}
		const clients, each = 8, 50
		var counter Count
		var all sync.WaitGroup
		got := make([][]string, clients)
		for c := range clients {
			all.Go(func() {
				v := NewVars(c, 1, nil, &counter)
				v.Captured["id"] = fmt.Sprint("id", c)
				for range each {
					b, err := x.Append(nil, v)
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

// FuzzText: what is compiled is rendered as text/template does, whose grammar
// this is a part of, and a literal stays itself.
func FuzzText(f *testing.F) {
	for _, s := range []string{"/{{.n}}", "{{ .id }} {", `{{"{{"}}`, "{{random 1 16}} {{random 3 .arg.size}}", "{{.users.name}}{{counter}}{{uuid}}", "{{{.n}}", "{{random .arg.size 50}}{{.arg.size}}", "a{{{{b\xff"} {
		f.Add(s)
	}
	k := someNames(f)
	octal := regexp.MustCompile(`[\s+-][-+0_.]*0[0-9_xXoObB]`) // 010 is 8 to text/template
	f.Fuzz(func(t *testing.T, s string) {
		x, err := Parse("path", Literal(s), k)
		if got, ok := x.Fixed(); err != nil || !ok || got != s {
			t.Fatalf("%q as a literal is %q, %v, %v", s, got, ok, err)
		}
		if x, err = Parse("path", s, k); err != nil || octal.MatchString(s) {
			return
		}
		got, err1 := x.Append(nil, someVars(k, 3))
		want, err2 := byTextTemplate(k, s, someVars(k, 3))
		if errors.Is(err2, errNoTemplate) || err1 != nil && err2 != nil {
			return // its lexer knows fewer spaces and numbers
		}
		if string(got) != want || err1 != nil || err2 != nil {
			t.Fatalf("%q: %q, %v; text/template: %q, %v", s, got, err1, want, err2)
		}
	})
}

var errNoTemplate = errors.New("no template")

// byTextTemplate renders a template with text/template.
func byTextTemplate(k *Names, s string, v *Vars) (string, error) {
	t, err := template.New("path").Option("missingkey=error").Funcs(template.FuncMap{
		"counter": func() int64 { return v.counter.taken.Add(1) - 1 },
		"uuid":    func() string { return string(v.appendUUID(nil)) },
		"random": func(lo, hi any) (int, error) {
			least, err1 := strconv.Atoi(fmt.Sprint(lo))
			most, err2 := strconv.Atoi(fmt.Sprint(hi))
			return int(uint64(least) + v.rng.Uint64N(uint64(most)-uint64(least)+1)), errors.Join(err1, err2)
		},
	}).Parse(s)
	if err != nil {
		return "", errNoTemplate
	}
	data := map[string]any{"n": v.n, "client": v.client, "arg": k.arg}
	for name, s := range v.Captured {
		data[name] = s
	}
	for i, row := range v.rows {
		fields := map[string]string{}
		for j, s := range row {
			fields[k.tables.all[i].columns[j]] = s
		}
		data[k.tables.all[i].name] = fields
	}
	var b strings.Builder
	err = t.Execute(&b, data)
	return b.String(), err
}

func BenchmarkText(b *testing.B) {
	k := someNames(b)
	x, err := Parse("path", "/sessions/{{.id}}?n={{.n}}&user={{.users.name}}&r={{random 1 100}}", k)
	if err != nil {
		b.Fatal(err)
	}
	v := someVars(k, 1)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		if buf, err = x.Append(buf[:0], v); err != nil {
			b.Fatal(err)
		}
	}
}
