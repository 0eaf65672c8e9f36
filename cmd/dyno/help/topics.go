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
		{Use: "metrics", Short: "The metrics, and which of them decide", Long: metricsText()},
		{Use: "verdicts", Short: "What better, worse, same and unclear mean", Long: verdictsText},
		{Use: "status", Short: "Exit statuses", Long: statusText},
	}
}

const planText = `A plan is a YAML file. Flags beat environment variables, which beat its keys:
DYNO_REPEAT=2 stands for --repeat 2.

    subject:              the service to launch, or one that runs already
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
An unknown key is an error, which names the nearest known key.`

const verdictsText = `Dyno compares each setting with the baseline, the first setting, within blocks. Every
setting has one trial in each block.

    better, worse   The setting changed the metric. If settings do not differ, the chance
                    that a report calls anything changed is at most 5 %: 3.5 % among the
                    primary metrics, 0.3 % among the others, 1 % among functions in
                    profiles, 0.1 % among leaks.
    same            The change is surely less than 1 % (--negligible).
    unclear         The blocks cannot decide. "More blocks" says how many would, if
                    further trials are alike. Below 6 blocks everything is unclear.
    differs         Of two runs of different times, the change is more than the noise
                    within them; the machine may have made it.

Each interval is a 95 % interval of a single change. A verdict may therefore be unclear
although the interval excludes 0. Verdicts and intervals hold whenever you look at them: at
a live run, after Ctrl-C, or with more blocks (--resume DIR --more 10). --fail-worse errs in
0.1 % of comparisons.`

const statusText = `    0     done
    1     dyno could not do it, or something failed on the way
    2     a mistake in the command line or the plan
    98    a result is unclear, with --strict; with --gate, nothing could be told
    99    a threshold failed, or a result is worse, with --fail-worse
    130   interrupted: the results so far are kept and reported

With 98 and 99, the full report is still written.`

func metricsText() string {
	var b strings.Builder
	b.WriteString(`Names end in the base unit: seconds, bytes, or a share. In thresholds, p99 stands
for p99-sec, and alloc_per_req for alloc-B/req.

Primary metrics decide when a run ends, and what dyno recommends:

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
