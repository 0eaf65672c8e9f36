package report

import (
	"io"
	"regexp"
	"strings"
)

// BenchText writes the report for a reader at a terminal: the verdict in words, the
// comparisons unit by unit as benchstat has them with dyno's verdict beside each, a
// plot of what changed or is unclear, what is doubtful about the benchmarks, what
// failed, how it was measured, and why. Only names, and lines of source, can make a line
// longer than o.Width. The error is w's.
func BenchText(w io.Writer, r *BenchReport, o Options) error {
	t, v := r.Table, newReportView(r, o.width())
	var b strings.Builder
	for _, s := range v.verdicts() {
		b.WriteString(fold(s.Name+s.Rest, "", "  ", v.as.width))
	}
	for i, key := range v.as.keys {
		name := v.label(i)
		if i == 0 && len(t.Settings) > 1 {
			name += " (baseline)"
		}
		b.WriteString(fold(name, "  "+key+" ", "      ", v.as.width))
	}
	if s, ok := v.thresholds(mostJudged); ok {
		s.text(&b, v.as.width, o.Color)
	}
	sections, notes := v.sections(false)
	if last := len(sections) - 1; last >= 0 {
		sections[last].notes = notes
		if s, ok := v.plotted(); ok {
			sections = append(sections, s)
		}
	}
	for _, s := range sections {
		s.text(&b, v.as.width, o.Color)
	}
	if notes := v.pitfalls(); notes != nil {
		b.WriteString("\nPitfalls\n")
		for i := range notes {
			b.WriteString(fold(v.pitfall(&notes[i], mostPitfall), "  ! ", "    ", v.as.width))
		}
	}
	if failed := v.failed(); failed != nil {
		b.WriteString("\nFailed benchmarks\n")
		for _, f := range failed {
			b.WriteString(fold(f.trials+": "+f.lines[0], "  ", "    ", v.as.width))
			for _, l := range f.lines[1:] {
				b.WriteString("    " + l + "\n")
			}
		}
	}
	if len(t.Notes) > 0 {
		b.WriteString("\nWarnings\n")
		for _, n := range t.Notes {
			b.WriteString(fold(v.readable(n), "  ! ", "    ", v.as.width))
		}
	}
	if how := v.measured(); how != nil {
		b.WriteByte('\n')
		for _, line := range how {
			b.WriteString(fold(line, "", "", v.as.width))
		}
	}
	v.whys(&b, r, o)
	_, err := io.WriteString(w, b.String())
	return err
}

// sections are the tables of a text, in order, and what is to be said of all of them.
func (v *benchView) sections(whole bool) (out []section, notes []string) {
	if len(v.Settings) < 2 {
		if s, ok := v.figures(); ok {
			out = append(out, s)
		}
		return out, nil
	}
	units, folded := v.units(whole)
	for _, u := range units {
		out = append(out, u.section)
	}
	if out == nil {
		return nil, nil
	}
	return out, append(folded, v.legend())
}

const mostJudged = 50 // thresholds that failed, and as many that are unclear

// failed are the benchmarks that said why there are no numbers, or fewer; those that
// failed alike once.
func (v *benchView) failed() (out []failed) {
	at := map[string]int{}
	for i := range v.Rows {
		r := &v.Rows[i]
		if r.Err == "" {
			continue
		}
		if n, ok := at[r.Err]; ok {
			out[n].trials += ", " + v.called(r)
			continue
		}
		at[r.Err] = len(out)
		lines := strings.Split(strings.TrimRight(v.readable(v.alike(r.Err)), "\n"), "\n")
		for n := range lines {
			lines[n] = clean(lines[n])
		}
		out = append(out, failed{v.called(r), lines})
	}
	return out
}

// varying is what differs between two traces of the same failure.
var varying = regexp.MustCompile(`0x[0-9a-f]+|goroutine [0-9]+`)

// alike says once what a benchmark said in all settings; what they said differently
// stays as it is, each after its setting.
func (v *benchView) alike(text string) string {
	var said []string
	rest, ok := strings.CutPrefix(text, v.Settings[0].Label()+": ")
	for i := 1; ok && i < len(v.Settings); i++ {
		var one string
		if one, rest, ok = strings.Cut(rest, "; "+v.Settings[i].Label()+": "); ok {
			said = append(said, one)
		}
	}
	if !ok || said == nil {
		return text
	}
	for _, one := range append(said[1:], rest) {
		if varying.ReplaceAllString(one, "") != varying.ReplaceAllString(said[0], "") {
			return text
		}
	}
	return said[0]
}
