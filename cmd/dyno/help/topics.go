package help

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
)

// topics are commands that only have a text: dyno help NAME.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "plan", Short: "The keys of dyno.yaml", Long: planText},
		{Use: "metrics", Short: "What is measured, and what of it decides", Long: metricsText()},
		{Use: "verdicts", Short: "What better, worse, same and unclear mean", Long: verdictsText},
		{Use: "status", Short: "Exit statuses", Long: statusText},
	}
}

const planText = `A plan is a YAML file. Flags beat its keys, and so do variables, which flags beat:
DYNO_REPEAT=2 stands for --repeat 2.

    subject:              what is built and launched, or runs already
      package: ./cmd/server
      args: [-listen, "{{.Addr}}"]
    vary:                 factors and their levels, the first the baseline
      GOGC: [100, 200]
    load:                 closed by concurrency, or open by a rate
      concurrency: 10
      duration: 3s
      path: /search
    thresholds: ["p99 < 30ms", "change(p99) < 5%"]

dyno init writes a plan with every key and a comment for each.
dyno run -f dyno.yaml --print shows a plan with all defaults, and runs nothing.
A key that is not known is an error that names the nearest one.`

const verdictsText = `Each setting is compared with the baseline, the first setting, within blocks, in
which every setting has one trial.

    better, worse   The setting changed the metric. A run calls one of its primary
                    metrics changed by mistake with a chance of at most 5 %, of the
                    others with 1 %, over all settings and looks together.
    same            The change is surely less than 1 % (--negligible).
    unclear         The blocks cannot tell. "More blocks" says how many would, if
                    the trials go on alike.

An interval is one of 95 %, of one change for itself; a verdict may so be unclear
where the interval leaves out 0. --fail-worse errs in 0.1 % of comparisons.`

const statusText = `    0     done
    1     it could not be done, or something failed on the way
    2     a mistake in the command line or the plan
    98    something is unclear, with --strict
    99    a threshold failed, or something is worse, with --fail-worse
    130   interrupted: what was measured is kept and reported

With 98 and 99 the report is whole.`

func metricsText() string {
	var b strings.Builder
	b.WriteString(`Names end in the base unit: seconds, bytes, or a share. In thresholds, p99 stands
for p99-sec, and alloc_per_req for alloc-B/req.

Primary metrics decide when a run ends, and what is recommended:

`)
	line := func(m dyno.Metric) {
		better := map[int]string{1: "higher is better", -1: "lower is better", 0: "not compared"}[m.Better]
		fmt.Fprintf(&b, "    %-22s %s; %s\n", m.Name, m.Help, better)
	}
	for _, m := range dyno.Metrics {
		if m.Primary {
			line(m)
		}
	}
	b.WriteString("\nThe others:\n\n")
	for _, m := range dyno.Metrics {
		if !m.Primary {
			line(m)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
