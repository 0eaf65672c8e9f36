package findings

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/stats"
)

// addStatements lets the options tell which statements of needs surely changed: how often each request leads to one
// (profile "calls NEED"), or how long the server takes for them ("time NEED").
func addStatements(opt *compare.Options, results []*dyno.Result, base string) {
	if !slices.ContainsFunc(results, func(r *dyno.Result) bool { return len(r.Statements) > 0 }) {
		return
	}
	others := opt.Places
	opt.Places = func(s dyno.Setting, profile string) []compare.Place {
		what, need, of := strings.Cut(profile, " ")
		switch {
		case of:
			return changesOf(need, what == "time", pairsOf(results, base, s.String(), need))
		case others == nil:
			return nil
		}
		return others(s, profile)
	}
}

// usesOf tells who asks whom: the templates of the asking one have the address of the asked one. If no template has the
// address of a need, the subject is taken for its user.
func usesOf(e *dyno.Experiment) (uses []compare.Use) {
	of := map[string][]string{"": e.Subject.Uses()}
	used := map[string]bool{}
	for name, need := range e.Needs {
		of[name] = need.Uses()
	}
	for _, from := range slices.Sorted(maps.Keys(of)) {
		for _, to := range of[from] {
			uses, used[to] = append(uses, compare.Use{From: from, To: to}), true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Needs)) {
		if !used[name] {
			uses = append(uses, compare.Use{To: name})
		}
	}
	return uses
}

// fewestPairs is the number of blocks from which statements are compared.
const fewestPairs = 3

// An asked is what a need was asked in one trial.
type asked struct {
	statements dyno.Statements
	requests   float64 // of the window
	seconds    float64 // of the window
	cut        bool    // there were more statements than are listed
}

// pairsOf are the blocks that have both settings.
func pairsOf(results []*dyno.Result, base, setting, need string) (pairs [][2]asked) {
	blocks := map[int]*[2]*asked{}
	for _, r := range results {
		i := slices.Index([]string{base, setting}, r.Trial.Setting.String())
		if i < 0 || r.Err != "" || r.Trial.For != "" || r.Elapsed == 0 {
			continue
		}
		a := &asked{seconds: r.Elapsed.Seconds()}
		calls := 0.0
		for _, s := range r.Statements {
			if s.Need == need {
				a.statements = append(a.statements, s)
				a.cut = a.cut || s.Text == ""
				calls += s.Calls
			}
		}
		perRequest, known := r.Values.Get(need + "-statements/req")
		if !known {
			continue
		}
		if a.requests = float64(r.Sent.Requests); perRequest > 0 {
			a.requests = calls / perRequest // as the row has it
		}
		if blocks[r.Trial.Block] == nil {
			blocks[r.Trial.Block] = new([2]*asked)
		}
		blocks[r.Trial.Block][i] = a
	}
	for _, pair := range blocks {
		if pair[0] != nil && pair[1] != nil {
			pairs = append(pairs, [2]asked{*pair[0], *pair[1]})
		}
	}
	return pairs
}

// An amount is what one statement took per request in both settings, block by block.
type amount struct {
	text        string
	calls, sec  [2][]float64
	perSecond   [2]float64 // sums over blocks of calls per second of the window
	incomplete  bool       // in some block it is not known
	replacement bool       // it came in the place of another text that was asked as often
}

// amountsOf collects the amounts of all statements.
func amountsOf(need string, pairs [][2]asked) (all []*amount) {
	at := map[string]*amount{}
	for _, pair := range pairs {
		for _, a := range pair {
			for _, s := range a.statements {
				if s.Text != "" && at[s.Text] == nil {
					at[s.Text] = &amount{text: s.Text}
					all = append(all, at[s.Text])
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b *amount) int { return cmp.Compare(a.text, b.text) })
	for _, m := range all {
		for _, pair := range pairs {
			for i, a := range pair {
				s, found := a.statements.Find(need, m.text)
				m.incomplete = m.incomplete || !found && a.cut
				m.calls[i] = append(m.calls[i], s.Calls/a.requests)
				m.sec[i] = append(m.sec[i], s.Sec/a.requests)
				m.perSecond[i] += s.Calls / a.seconds
			}
		}
	}
	return all
}

// asOften is the share within which two numbers of calls are the same.
const asOften = 0.05

func alike(a, b float64) bool { return math.Abs(a-b) <= asOften*max(math.Abs(a), math.Abs(b)) }

// rewritten joins a statement that only the baseline has with one that only the setting has, that is asked as often and
// begins alike: the text changed, not the question.
func rewritten(all []*amount) []*amount {
	mean := func(m *amount, i int) float64 { return stats.MeanOf(m.calls[i]).Mean }
	for _, was := range all {
		if mean(was, 1) > 0 {
			continue
		}
		var same *amount
		longest := 0 // beginning that they share
		for _, now := range all {
			if n := shared(was.text, now.text); n > longest && mean(now, 0) == 0 && alike(mean(was, 0), mean(now, 1)) {
				same, longest = now, n
			}
		}
		if same == nil || same == was {
			continue
		}
		same.calls[0], same.sec[0], same.perSecond[0], same.replacement = was.calls[0], was.sec[0], was.perSecond[0], true
		was.calls[0] = make([]float64, len(was.calls[0])) // it is counted there
		was.sec[0], was.perSecond[0] = was.calls[0], 0
	}
	return all
}

// shared is the length of the beginning that two texts share, 0 if it is less than a word.
func shared(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if !strings.Contains(a[:n], " ") {
		return 0
	}
	return n
}

// changesOf are the statements whose amount per request surely differs, the greatest change first: of calls, or of
// time. The error for all of them together is that of functions of a profile, by Student's t and Bonferroni. Left out
// is what is asked as often per second in both: it goes by the clock, and per request only where requests are fewer.
func changesOf(need string, time bool, pairs [][2]asked) (places []compare.Place) {
	if len(pairs) < fewestPairs {
		return nil
	}
	all := rewritten(amountsOf(need, pairs))
	total := 0.0
	for _, m := range all {
		of := m.calls
		if time {
			of = m.sec
		}
		diffs := make([]float64, len(pairs))
		for p := range pairs {
			diffs[p] = of[1][p] - of[0][p]
		}
		change := stats.MeanAt(diffs, profiles.Alpha/float64(len(all)))
		if m.incomplete || math.IsNaN(change.Mean) {
			continue
		}
		total += change.Mean
		if !time && (alike(m.perSecond[0], m.perSecond[1]) || m.replacement) || change.Lo <= 0 && change.Hi >= 0 {
			continue
		}
		places = append(places, compare.Place{
			Func: m.text, From: dyno.Number(stats.MeanOf(of[0]).Mean),
			Change: dyno.Number(change.Mean), Lo: dyno.Number(change.Lo), Hi: dyno.Number(change.Hi),
		})
	}
	places = slices.DeleteFunc(places, func(p compare.Place) bool { return math.Abs(float64(p.Change)) < leastShown*math.Abs(total) })
	for i := range places {
		places[i].Share = places[i].Change / dyno.Number(total)
	}
	slices.SortFunc(places, func(a, b compare.Place) int {
		return cmp.Or(cmp.Compare(math.Abs(float64(b.Change)), math.Abs(float64(a.Change))), cmp.Compare(a.Func, b.Func))
	})
	return places
}
