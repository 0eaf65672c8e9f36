package pprofpage

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno/internal/analysis/profiles"
)

const (
	with    = `arg.loop="/with all"`
	without = "arg.loop=/without"
)

// recorded is a profile of the analysis package's tests.
func recorded(t testing.TB, name string) *profile.Profile {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "analysis", "profiles", "testdata", name+".pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// hostile is a profile all of whose names want to be markup.
func hostile() *profile.Profile {
	const evil = `"];x[URL="javascript:alert(1)" label="\</script><script>alert(1)</script><img src=x onerror=alert(1)>"'` + "`${alert(1)}{{.}}\u2028\u202e\x00&quot;"
	m := &profile.Mapping{ID: 1, File: "/x/" + evil, BuildID: evil}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "a" + evil, Unit: "count"}, {Type: "cpu" + evil, Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: evil, Unit: evil}, Mapping: []*profile.Mapping{m},
		Comments: []string{evil}, DocURL: "javascript:alert(1)", DropFrames: "", TimeNanos: 1, DurationNanos: 1e9,
	}
	var locations []*profile.Location
	for i, file := range []string{"/etc/passwd", "/tmp/" + evil + ".go", evil} {
		f := &profile.Function{ID: uint64(i + 1), Name: fmt.Sprint("f", i, evil), SystemName: evil, Filename: file}
		l := &profile.Location{ID: uint64(i + 1), Mapping: m, Address: uint64(i + 1), Line: []profile.Line{{Function: f, Line: 1}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		locations = append(locations, l)
		p.Sample = append(p.Sample, &profile.Sample{
			Location: append([]*profile.Location(nil), locations...), Value: []int64{3, 4e9},
			Label: map[string][]string{evil: {evil}, "pprof::base": {"true"}}, NumLabel: map[string][]int64{evil: {1}}, NumUnit: map[string][]string{evil: {evil}},
		})
	}
	return p
}

// injected is what in a page would act: any script but those that pprof's pages
// have, any handler, or an element that a name made.
var injected = regexp.MustCompile("(?i)<img|<script>alert|href=[\"'][^\"']*javascript:|onerror=[^a]|xlink:href=\"|\u2028|\u202e|\x00|root:x:0:0")

func TestHostileFlame(t *testing.T) {
	for _, base := range []*profiles.Sum{nil, {Setting: without, Profile: hostile(), Requests: 3}} {
		page, err := Flame("cpu", profiles.Sum{Setting: "<script>alert(1)</script>", Profile: hostile(), Requests: 7}, base)
		if err != nil {
			t.Fatal(err)
		}
		body := string(page)
		if found := injected.FindString(body); found != "" {
			i := strings.Index(body, found)
			t.Errorf("it has %q: %q", found, body[max(0, i-200):min(len(body), i+100)])
		}
		// Whatever a name did to end a script early shows in how many there are.
		if n := strings.Count(strings.ToLower(body), "<script"); n != 4 || strings.Count(strings.ToLower(body), "</script") != n {
			t.Errorf("it has %d scripts: %.300s", n, body)
		}
	}
	_, err := Flame("cpu", profiles.Sum{Setting: without, Profile: recorded(t, "search-cpu-go1.22.12"), Requests: 0}, &profiles.Sum{Setting: with, Profile: recorded(t, "search-cpu-go1.22.12"), Requests: 1})
	if err == nil || !strings.Contains(err.Error(), "the number of requests of arg.loop=/without is unknown") {
		t.Errorf("an unknown number of requests: %v", err)
	}
}

func TestFlamePage(t *testing.T) {
	page, err := Flame("cpu", profiles.Sum{Setting: without, Profile: recorded(t, "search-cpu-go1.27.4"), Requests: 4000}, &profiles.Sum{Setting: with, Profile: recorded(t, "search-cpu-go1.22.12"), Requests: 4000})
	if err != nil {
		t.Fatal(err)
	}
	asks := regexp.MustCompile(`url\("data:[^"]*"\)`).ReplaceAll(page, nil)
	for _, not := range []string{"http:", "https:", "<link", "src=", "style=", "onclick", "Download", "saveconfig'>", "./top", "./source"} {
		if bytes.Contains(asks, []byte(not)) {
			t.Errorf("the page has %q", not)
		}
	}
	blocks, err := FlameBlocks()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, s := range blocks.Scripts {
		all = append(all, string(s))
	}
	for _, s := range blocks.Styles {
		all = append(all, string(s))
	}
	rest := string(page)
	for _, block := range all {
		if !strings.Contains(rest, ">"+block+"</") {
			t.Errorf("the page has another block than %.40q", block)
		}
		rest = strings.Replace(rest, ">"+block+"</", "></", 1)
	}
	if n := strings.Count(rest, "<script></script>"); n != len(blocks.Scripts) || strings.Count(rest, "<script") != n+1 {
		t.Errorf("the page has other scripts: %s", rest)
	}
	for _, want := range []string{"stackViewer(", "arg.loop=/without against arg.loop=&#34;/with all&#34;, per million requests", `id="search"`} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// What is too small to see is its caller's: nothing of the whole is lost.
func TestPrune(t *testing.T) {
	set := stackSet{Sources: []source{{FullName: "root"}, {FullName: "main"}, {FullName: "tiny"}, {FullName: "big"}, {FullName: "leaf"}}}
	set.Stacks = append(set.Stacks, []stack{
		{500_000, []int{0, 1, 3, 4}}, {499_200, []int{0, 1, 3, 4}},
		{300, []int{0, 1, 2}}, {500, []int{0, 1, 2, 4}},
		{-400_000, []int{0, 1, 3, 4}}, {-600, []int{0, 1, 3, 4}}, {-700, []int{0, 1, 2}}, // what there was before
	}...)
	set.prune()
	var lines []string
	for _, s := range set.Stacks {
		line := fmt.Sprint(s.Value)
		for _, i := range s.Sources {
			line += "/" + set.Sources[i].FullName
		}
		lines = append(lines, line)
	}
	if got, want := strings.Join(lines, " "), "999200/root/main/big/leaf 800/root/main -400600/root/main/big/leaf -700/root/main"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(set.Sources) != 4 {
		t.Errorf("the sources are %v", set.Sources)
	}
}
