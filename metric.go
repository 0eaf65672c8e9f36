package dyno

import (
	"cmp"
	"slices"
)

// A Metric describes one quantity of a trial. Its name ends in its base unit
// and is a unit of the Go benchmark format, so that benchstat reads it too.
type Metric struct {
	Name    string
	Better  int  // +1 if higher is better, -1 if lower is, 0 if it is not compared
	Primary bool // compared in the family that shares a 5 % error
	Help    string
}

// Metrics is every metric that a trial may have, in the order of reports; latency and
// service time come first.
var Metrics = []Metric{
	{"p50-sec", -1, true, "median latency"},
	{"p90-sec", -1, false, "90th percentile of latency"},
	{"p95-sec", -1, false, "95th percentile of latency"},
	{"p99-sec", -1, true, "99th percentile of latency"},
	{"p99.9-sec", -1, false, "99.9th percentile of latency"},
	{"max-sec", -1, false, "longest latency"},
	{"min-sec", -1, false, "shortest latency"},
	{"mean-sec", -1, false, "mean latency"},
	{"stddev-sec", -1, false, "standard deviation of latency"},
	{"service-p50-sec", -1, false, "median service time, from when a request was sent"},
	{"service-p90-sec", -1, false, "90th percentile of service time"},
	{"service-p95-sec", -1, false, "95th percentile of service time"},
	{"service-p99-sec", -1, false, "99th percentile of service time"},
	{"service-p99.9-sec", -1, false, "99.9th percentile of service time"},
	{"req/s", +1, true, "requests answered as expected per second of the measured window"},
	{"messages/s", +1, false, "messages of streams received per second"},
	{"sent/s", 0, false, "requests sent per second of the time in which they were due"},
	{"failures", -1, false, "requests that failed"},
	{"late-frac", -1, false, "share of requests that took longer than the deadline, failed or were never sent"},
	{"unsent", -1, false, "requests of an open load that were due and never sent"},
	{"rest-cpu-frac", 0, false, "CPU time per second late in the turns of other settings, of one CPU"},
	{"lateness-p99-sec", 0, false, "99th percentile of how late the generator sent"},
	{"generator-cpu-frac", 0, false, "generator's CPU time as a share of its cores"},
	{"cpu-sec/req", -1, true, "CPU time of the subject per request"},
	{"alloc-B/req", -1, false, "bytes allocated per request"},
	{"allocs/req", -1, false, "objects allocated per request"},
	{"minflt/req", -1, false, "minor page faults (served without a disk) per request"},
	{"mutex-wait-sec/req", -1, false, "time that goroutines waited for mutexes per request"},
	{"sched-p99-sec", -1, false, "99th percentile of how long a runnable goroutine waited for a CPU"},
	{"cpu-wait-frac", 0, false, "share of their runnable time that threads of the subject waited for a CPU"},
	{"others-cpu-frac", 0, false, "share of the time of the CPUs that dyno and the subject may use that other processes took"},
	{"steal-frac", 0, false, "share of the time of these CPUs that the hypervisor withheld"},
	{"throttled-frac", -1, false, "share of the CPU limit's periods in which the subject was throttled"},
	{"throttled-sec/req", -1, false, "time that threads of the subject were throttled per request"},
	{"gomaxprocs", 0, false, "GOMAXPROCS in effect at the end of the window"},
	{"gc-cycles", -1, false, "garbage collections in the measured window"},
	{"req/gc", +1, false, "requests per garbage collection"},
	{"gc-cpu-frac", -1, false, "garbage collection's share of the subject's CPU time"},
	{"gc-cpu-sec/req", -1, false, "CPU time of garbage collection per request"},
	{"gc-assist-frac", -1, false, "share of the subject's CPU time that allocating goroutines spent on marking"},
	{"gc-wall-frac", -1, false, "share of the measured window in which a collection was under way"},
	{"gc-capacity-frac", -1, false, "garbage collection's share of all CPU time of GOMAXPROCS, as gctrace prints it"},
	{"stw-max-sec", -1, false, "longest stop-the-world of a collection"},
	{"stw-total-sec", -1, false, "stop-the-world time of all collections"},
	{"heap-live-B", -1, false, "heap that a collection found live, mean over collections"},
	{"heap-peak-B", -1, false, "largest heap seen, garbage included: by a sample, or at the end of a collection"},
	{"heap-alloc-B", -1, false, "heap in use (MemStats.Alloc), mean over samples"},
	{"sys-B", -1, false, "memory that the runtime has from the system (MemStats.Sys), mean over samples"},
	{"total-alloc-B", -1, false, "bytes allocated since the start (MemStats.TotalAlloc), at the end of the window"},
	{"gc-total", -1, false, "garbage collections since the start (MemStats.NumGC), at the end of the window"},
	{"rss-peak-B", -1, true, "highest resident memory of the measured window"},
	{"rss-mean-B", -1, false, "mean resident memory of the measured window"},
	{"rss-file-B", -1, false, "most resident memory that is pages of files, such as mapped ones, which the kernel can take back"},
	{"rss-idle-B", -1, false, "resident memory after the idle time that follows the load, and after any collections forced to find leaks"},
	{"cgroup-peak-B", -1, false, "most memory of the control group in the measured window, page cache included"},
	{"oom-kills", -1, false, "processes of the control group that the kernel killed for lack of memory"},
	{"memory-stall-frac", -1, false, "share of the window in which some thread of the control group waited for memory (pressure stall information)"},
	{"cpu-stall-frac", -1, false, "share of the window in which some thread of the control group waited for a CPU (pressure stall information)"},
	{"ready-sec", -1, false, "time from the launch until the service was ready"},
	{"sec/op", -1, true, "time per operation of a benchmark"},
	{"B/op", -1, true, "bytes allocated per operation of a benchmark"},
	{"allocs/op", -1, true, "objects allocated per operation of a benchmark"},
	{"cpu-frac", -1, false, "CPU time of a watched process, as a share of one core"},
	{"minflt/s", -1, false, "minor page faults (served without a disk) per second of a watched process"},
	{"statements/req", -1, false, "statements or commands that a need was asked per request"},
	{"server-sec/req", -1, false, "time from the start of a statement to its end in a need, its waits included, per request"},
	{"rows/req", -1, false, "rows that a database returned or changed per request"},
	{"temp-B/req", -1, false, "bytes of temporary files that a database wrote per request"},
	{"new-connections/req", -1, false, "connections that were opened to a need, per request"},
	{"connections", 0, false, "most connections to a need"},
	{"threads", -1, false, "most threads"},
	{"goroutines", -1, false, "most goroutines"},
	{"fds", -1, false, "most open file descriptors"},
}

// Percentiles are the metrics of latency that are percentiles, each with its share of requests.
var Percentiles = []struct {
	Metric string
	Share  float64
}{{"p50-sec", .5}, {"p90-sec", .9}, {"p95-sec", .95}, {"p99-sec", .99}, {"p99.9-sec", .999}}

// MetricByName finds a metric. The latency of one named step, such as
// "login-p99-sec", is not primary but otherwise as "p99-sec". Of a need, such as
// "db-cpu-sec/req", CPU time is primary.
func MetricByName(name string) (Metric, bool) {
	step, i := Rank(name)
	if i == len(Metrics) {
		return Metric{}, false
	}
	m := Metrics[i]
	if need, _ := NeedOf(name); need != "" {
		return Metric{name, m.Better, m.Name == "cpu-sec/req", need + ": " + m.Help}, true
	}
	if m.Name != name {
		m = Metric{name, m.Better, false, m.Help + " of step " + step}
	}
	return m, true
}

// Sort puts values in the order of Metrics; others follow by name.
func (vs Values) Sort() {
	at := func(metric string) int {
		if i, ok := indices[metric]; ok {
			return i
		}
		return len(Metrics)
	}
	slices.SortFunc(vs, func(a, b Value) int {
		return cmp.Or(cmp.Compare(at(a.Metric), at(b.Metric)), cmp.Compare(a.Metric, b.Metric))
	})
}
