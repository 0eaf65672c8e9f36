package dyno

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A Threshold is what must hold of a metric, "p99 < 30ms", or of its change against the
// baseline, "change(p99) < 5%".
type Threshold struct {
	Name    string // of the metric, as ThresholdName makes it
	Change  bool   // of the metric's change, not of the metric
	Op      string // <, <=, >, >=, == or !=
	Literal string // the limit as written: 30ms, 200MiB, 5%, 0
}

var (
	comparison    = regexp.MustCompile(`^([^<>=!]*)(<=|<|>=|>|==|!=)([^<>=!]*)$`)
	thresholdName = regexp.MustCompile(`^[\pL\p{Nd}_]+$`)
)

// ParseThreshold reads NAME OP LITERAL or change(NAME) OP LITERAL. [Threshold.Of] finds the metric and the
// limit.
func ParseThreshold(text string) (Threshold, error) {
	bad := func(why string, args ...any) (Threshold, error) {
		return Threshold{}, fmt.Errorf("bad threshold %q: %s", text, fmt.Sprintf(why, args...))
	}
	parts := comparison.FindStringSubmatch(text)
	if !strings.ContainsAny(text, "<>=!") {
		return bad("no comparison (want for example p99 < 30ms)")
	}
	if parts == nil {
		return bad("want one of <, <=, >, >=, == and != in it")
	}
	t := Threshold{Name: strings.TrimSpace(parts[1]), Op: parts[2], Literal: strings.TrimSpace(parts[3])}
	if inner, ok := strings.CutPrefix(t.Name, "change"); ok && strings.HasPrefix(strings.TrimSpace(inner), "(") {
		inner, closed := strings.CutSuffix(strings.TrimSpace(inner)[1:], ")")
		if !closed {
			return bad("the bracket is not closed (want for example change(p99) < 5%%)")
		}
		t.Name, t.Change = strings.TrimSpace(inner), true
	}
	// A metric's full name, or as reports print it, is understood but not taken.
	means := ThresholdName(t.Name)
	switch {
	case t.Literal == "":
		return bad("nothing stands after %s (want for example p99 < 30ms)", t.Op)
	case strings.ContainsFunc(t.Literal, func(r rune) bool { return unicode.IsSpace(r) || !strconv.IsPrint(r) }):
		return bad("%q is not one number (consider: a threshold for each)", t.Literal)
	case t.Name == "":
		return bad("want the name of a metric before %s (for example p99 < 30ms)", t.Op)
	case thresholdName.MatchString(t.Name):
		return t, nil
	case means == "":
		return bad("%q is not the name of a metric (want for example p99, rss_peak or cpu_per_req)", t.Name)
	}
	return bad("%q is not the name of a metric in thresholds (did you mean %s?)", t.Name, means)
}

// String is the threshold as ParseThreshold reads it.
func (t Threshold) String() string {
	name := t.Name
	if t.Change {
		name = "change(" + name + ")"
	}
	return name + " " + t.Op + " " + t.Literal
}

// MarshalText implements encoding.TextMarshaler.
func (t Threshold) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// ThresholdName is the name of a metric in thresholds: without the unit, with "_" for "-" and ".",
// and "_per_" for "/". In the name of a step, each run of other characters than letters and digits
// becomes one "_": "GET /users/{{.id}}-p99-sec" is GET_users_id_p99.
func ThresholdName(metric string) string {
	step, i := Rank(metric)
	if i < len(Metrics) {
		metric = Metrics[i].Name
	}
	head, per, quotient := strings.Cut(metric, "/")
	for _, unit := range []string{"-sec", "-B", "-frac"} {
		head = strings.TrimSuffix(head, unit)
	}
	name := underscored(head)
	if quotient {
		name += "_per_" + underscored(per)
	}
	if step != "" {
		name = strings.Trim(underscored(step), "_") + "_" + name
	}
	return name
}

// underscored makes one "_" of all that is neither a letter nor a digit.
func underscored(s string) string {
	var b strings.Builder
	last := rune(0)
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = '_'
		}
		if r != '_' || last != '_' {
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}

// Of finds the threshold's metric among Metrics and others, and the limit in its base unit. The
// limit of a change is a fraction: 0.05 is +5 %.
func (t Threshold) Of(others []string) (Metric, float64, error) {
	m, err := MetricOf(t.Name, others)
	if err != nil {
		return Metric{}, 0, fmt.Errorf("threshold %q: %w", t, err)
	}
	if t.Change && m.Better == 0 {
		return m, 0, fmt.Errorf("threshold %q: %s is never compared, so it has no change", t, m.Name)
	}
	limit, err := t.limit(m)
	if err != nil {
		return m, 0, fmt.Errorf("threshold %q: %w", t, err)
	}
	return m, limit, nil
}

// MetricOf finds the metric that thresholds and goals call so, among Metrics and others.
func MetricOf(threshold string, others []string) (Metric, error) {
	var found, names []string
	for _, m := range Metrics {
		others = append(slices.Clip(others), m.Name)
	}
	slices.Sort(others)
	for _, metric := range slices.Compact(others) {
		name := ThresholdName(metric)
		names = append(names, name)
		if name == threshold {
			found = append(found, metric)
		}
	}
	switch {
	case len(found) > 1:
		return Metric{}, fmt.Errorf("%s is ambiguous: it may be %s (consider: other names of the steps)", threshold, quoted(found))
	case len(found) == 0 && Nearest(threshold, names) != "":
		return Metric{}, fmt.Errorf("unknown metric %s (did you mean %s?)", threshold, Nearest(threshold, names))
	case len(found) == 0:
		return Metric{}, fmt.Errorf("unknown metric %s (want for example p99, failures, req_per_s, cpu_per_req or rss_peak)", threshold)
	}
	m, known := MetricByName(found[0])
	if !known {
		m = Metric{Name: found[0]}
	}
	return m, nil
}

func quoted(names []string) string {
	for i, n := range names {
		names[i] = strconv.Quote(n)
	}
	return strings.Join(names, " or ")
}

func (t Threshold) limit(m Metric) (float64, error) {
	unit, _, _ := strings.Cut(m.Name, "/")
	switch {
	case t.Change:
		num, percent := strings.CutSuffix(t.Literal, "%")
		v, err := decimal(num)
		if !percent || err != nil || v < -100 {
			return 0, fmt.Errorf("bad change %q (want per cent, for example 5%% or -10%%)", t.Literal)
		}
		return v / 100, nil
	case unit == "sec" || strings.HasSuffix(unit, "-sec") || strings.HasSuffix(m.Name, "-sec"):
		d, err := time.ParseDuration(t.Literal)
		if err != nil || d < 0 {
			return 0, fmt.Errorf("%s is a time; bad duration %q (want for example 30ms or 1.5s)", t.Name, t.Literal)
		}
		return d.Seconds(), nil
	case unit == "B" || strings.HasSuffix(unit, "-B"):
		return t.size()
	case strings.HasSuffix(unit, "-frac"):
		v, err := share(t.Literal, decimal)
		// Of several cores cpu-frac is more than 1; 5 for 5 % is a mistake elsewhere.
		if err != nil || v < 0 || v > 1 && m.Name != "cpu-frac" {
			return 0, fmt.Errorf("%s is a share; bad fraction %q (want for example 5%% or 0.05)", t.Name, t.Literal)
		}
		return v, nil
	}
	v, err := decimal(t.Literal)
	if err != nil {
		return 0, fmt.Errorf("%s is a plain number; bad number %q (want for example 0 or 1500)", t.Name, t.Literal)
	}
	return v, nil
}

// size reads a number of bytes as GOMEMLIMIT is written; decimals are allowed.
func (t Threshold) size() (float64, error) {
	number, unit := cutSize(t.Literal)
	v, err := decimal(number)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("%s is a size; bad size %q (want for example 200MiB or 1.5GiB)", t.Name, t.Literal)
	}
	return v * float64(unit), nil
}

// decimal reads a finite number in digits; neither Inf nor 0x10 is one.
func decimal(s string) (float64, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune("0123456789.+-eE", r) }) {
		return 0, strconv.ErrSyntax
	}
	v, err := strconv.ParseFloat(s, 64)
	if math.Abs(v) > 1e300 {
		err = strconv.ErrRange
	}
	return v, err
}

// Holds reports whether x keeps the limit.
func (t Threshold) Holds(x, limit float64) bool {
	switch t.Op {
	case "<":
		return x < limit
	case "<=":
		return x <= limit
	case ">":
		return x > limit
	case ">=":
		return x >= limit
	case "==":
		return x == limit
	}
	return x != limit && !math.IsNaN(x)
}

// MetricNames are the metrics of the experiment beside [Metrics]: those of steps, and those that
// the service publishes.
func (e *Experiment) MetricNames() []string {
	var names []string
	for s := range e.Load.Client.Requests() {
		for _, p := range Percentiles {
			names = append(names, s.Label()+"-"+p.Metric)
		}
	}
	if e.Load.Program != "" { // which names its steps when it runs
		for _, t := range e.Thresholds {
			for _, p := range Percentiles {
				if step, ok := strings.CutSuffix(t.Name, "_"+ThresholdName(p.Metric)); ok {
					names = append(names, step+"-"+p.Metric)
				}
			}
		}
	}
	for _, need := range slices.Sorted(maps.Keys(e.Needs)) {
		for _, m := range needMetrics {
			names = append(names, need+"-"+m)
		}
	}
	for _, m := range e.Probes.Metrics {
		names = append(names, m, m+"_count", m+"_sum")
	}
	return names
}
