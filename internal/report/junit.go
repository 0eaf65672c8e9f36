package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/export"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
)

// The elements that Jenkins and GitLab read, in the order of Jenkins' schema.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string      `xml:"name,attr"`
	Class   string      `xml:"classname,attr"`
	Time    string      `xml:"time,attr"`
	Error   *junitFault `xml:"error"`
	Failure *junitFault `xml:"failure"`
	Out     string      `xml:"system-out,omitempty"`
}

type junitFault struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes a table as JUnit XML: a suite for each setting, and a suite "run" for what
// belongs to no setting. With thresholds each judgement is a case: failed is a failure, no
// data an error; unclear passes with a note, or is a failure if strict. Without thresholds
// a service has one case "trials" for each setting (a failure if a trial failed, an error
// if none was run), and each benchmark has a case (an error if it failed or has no values).
// A suite takes the setting's measured time, split evenly over its cases; 0 for benchmarks.
// The error is that of writing to w.
func JUnit(w io.Writer, t *compare.Table, strict bool) error {
	v := view{tables.NewView(t, math.MaxInt)}
	all := junitSuites{Name: export.RunName(t.Name)}
	judged := make([][]junitCase, len(t.Settings)+1) // those of no setting first
	for n := range t.Thresholds {
		j := &t.Thresholds[n]
		judged[j.Setting+1] = append(judged[j.Setting+1], v.junitCase(j, strict))
	}
	whole, total := judged[0], t.Elapsed
	if len(t.Thresholds) == 0 && t.Kind == compare.OfBenchmarks {
		whole = v.junitBenchmarks()
	}
	for i := range t.Settings {
		s, cases, elapsed := &t.Settings[i], judged[i+1], time.Duration(0)
		if t.Kind != compare.OfBenchmarks {
			total, elapsed = total+s.Elapsed, s.Elapsed
			if len(t.Thresholds) == 0 {
				cases = append(cases, junitTrials(t, i))
			}
		}
		all.add(v.Labels[i], cases, elapsed)
	}
	if len(t.Settings) == 0 && whole == nil {
		whole = append(whole, junitCase{Name: "trials", Error: &junitFault{"no trial finished", "no data", ""}})
	}
	all.add("run", whole, 0)
	all.Time = seconds(total)
	data, err := xml.MarshalIndent(&all, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, data)
	return err
}

// junitBenchmarks are the cases of benchmarks without thresholds.
func (v view) junitBenchmarks() (cases []junitCase) {
	for _, b := range v.Benchmarks {
		c := junitCase{Name: v.Called(b), Out: "measured in " + layout.Count(b.Blocks, "block")}
		if len(b.Faults) > 0 || len(b.Units) == 0 {
			text := v.Faults(b)
			line, _, _ := strings.Cut(text, "\n")
			c.Out, c.Error = "", &junitFault{line, "no data", text}
		}
		cases = append(cases, c)
	}
	return cases
}

// add adds a suite with the cases, if there are any. Class names have no dots,
// at which readers would divide them.
func (all *junitSuites) add(name string, cases []junitCase, elapsed time.Duration) {
	if len(cases) == 0 {
		return
	}
	s := junitSuite{Name: all.Name + " " + name, Tests: len(cases), Time: seconds(elapsed), Cases: cases}
	for i := range cases {
		c := &cases[i]
		c.Class, c.Time = strings.ReplaceAll(s.Name, ".", "_"), seconds(elapsed/time.Duration(len(cases)))
		if c.Error != nil {
			s.Errors++
		} else if c.Failure != nil {
			s.Failures++
		}
	}
	all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
	all.Suites = append(all.Suites, s)
}

// junitCase is the case of a threshold.
func (v view) junitCase(j *compare.Judgement, strict bool) junitCase {
	c := junitCase{Name: j.Threshold.String()}
	if b := v.JudgedBenchmark(j); b != "" {
		c.Name += " of " + b
	}
	found := v.Figure(j)
	if e := v.Extent(j); e != "" {
		found += " " + e
	}
	if of := v.Decider(j); of != "" {
		found += " (" + of + ")"
	}
	text := found
	if w := v.WhyJudged(j); w != "" {
		text += ": " + w
	}
	switch {
	case j.NoData:
		c.Error = &junitFault{"no data: " + v.WhyJudged(j), "no data", text}
	case j.Outcome == compare.Failed:
		c.Failure = &junitFault{found + ", want " + j.Threshold.String(), "threshold", text}
	case j.Outcome == compare.Unclear && strict:
		c.Failure = &junitFault{"unclear: " + found + ", want " + j.Threshold.String(), "unclear", text}
	case j.Outcome == compare.Unclear:
		c.Out = "unclear: " + text
	default:
		c.Out = text
	}
	return c
}

// junitTrials is the case of a setting without thresholds.
func junitTrials(t *compare.Table, i int) junitCase {
	s, c := &t.Settings[i], junitCase{Name: "trials"}
	var failed []string
	for _, f := range t.FailedOf(i) {
		failed = append(failed, fmt.Sprintf("trial %d: %s", f.Trial.N, f.Err))
	}
	switch {
	case len(failed) > 0:
		first, _, _ := strings.Cut(failed[0], "\n")
		c.Failure = &junitFault{fmt.Sprintf("%s failed, %d finished; %s", layout.Count(len(failed), "trial"), s.Trials, first), "trial", strings.Join(failed, "\n")}
	case s.Trials == 0:
		c.Error = &junitFault{"no trial was run", "no data", ""}
	default:
		c.Out = layout.Count(s.Trials, "trial") + " finished"
	}
	return c
}

// seconds prints a time as JUnit has it.
func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
