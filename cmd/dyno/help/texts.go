package help

// Long texts of commands.
const (
	Bisect = `Bisect looks for the commit after --good, up to --bad, that made a service, or a
benchmark, slower or larger. It first compares the two ends side by side, and stops if
they do not differ. Then it measures some versions between them, side by side, where the
change most likely is. In the end it compares one commit and the one before, alone on
fresh blocks: only if these two differ is it called the answer, so the chance of a wrong
one is --error.

    dyno bisect ./cmd/server --good v1.8.0 --path '/search?q=x'
    dyno bisect ./cmd/server --good v1.8.0 --bad main --metric cpu_per_req
    dyno bisect example.org/server/cmd/server@v1.20.0..v1.30.0 --metric rss_peak
    dyno bisect ./codec --bench Decode --good v1.8.0                benchmarks
    dyno bisect ./... --bench . --good v1.8.0 --metric allocs_per_op

A merge is one commit; with --all-parents, the search goes on inside of a merge that is
the answer. Commits that changed no file of which the program can be made are passed over,
and equal programs are measured once; so is equal code of a benchmark. A commit that does
not build or start is left out, and then the answer may be several commits. With --all,
bisect looks for further changes before and after the answer.

The directory has a run for each step, with the commands report and compare for them.
Ctrl-C keeps the results so far, and --resume DIR goes on with them, as after a crash.`

	Bench = `Bench compares the benchmarks of test packages between two or more settings:
revisions, Go versions, build flags, environment variables, or two functions of
one package. PACKAGES are as for go test (default .).

    dyno bench --vary rev=HEAD,.                       uncommitted changes against the last commit
    dyno bench ./... --vary rev=main,. --fail-worse    in CI
    dyno bench --bench Encode --vary go=1.25.5,1.26.8
    dyno bench --vary GOGC=100,400
    dyno bench github.com/cespare/xxhash/v2/... --vary version=v2.1.2,v2.3.0    a published module
    dyno bench --vary dep:github.com/klauspost/compress=.,latest            a dependency; "." is that of go.mod
    dyno bench --vary build=-pgo=off,-pgo=default.pgo
    dyno bench --vary GOEXPERIMENT=,jsonv2
    dyno bench --pair Pipeline1,Pipeline2              BenchmarkPipeline1 and BenchmarkPipeline2
    dyno bench --aa --blocks 14                        the working tree against itself
    dyno bench --baseline old.txt                      against a file of go test -bench, not side by side
    dyno bench --baseline rev:main --cache .bench      against the cached results of main, if any
    dyno bench -f dyno.yaml                            the key bench of a plan
    dyno bench --resume dyno-runs/x-20261121-101500    go on after a crash, or --more 10 blocks
    dyno report dyno-runs/x-20261121-101500            print the same report again

KEY of --vary is go, rev, version, dep:MODULE, build, bench, or an environment variable (GOGC, GODEBUG,
GOEXPERIMENT ...), which the build sees too. The revision "." is the working tree.

Dyno builds the tests once for each setting. It links them again for every block
with the functions in a new order, the same in all settings. In a block, all settings
of a benchmark run at the same time on the same CPU, in turns of milliseconds. Dyno
adds blocks until each benchmark is decided or known to --precision, for at most
--duration. The chance of a false change in one comparison stays below --error,
however often dyno looks. Dyno then profiles the benchmarks that changed, and shows
the functions and lines responsible. It warns of benchmarks that mislead, such as
one whose result is optimised away.

Flags after -- go to the test binary, such as -- -test.short. Dyno stops and
continues the processes of a benchmark, which needs a Unix system. It pins them to
a CPU on Linux only.
`

	Track = `Track follows a service over its commits. It measures each commit side by side with one
fixed commit, the anchor, and with the last measured commit before it. What it keeps are
ratios to the anchor, so days, machines and their neighbours cancel. A commit takes a
minute or less, and its builds.

    dyno track init ./cmd/server --path '/search?q=x' --sync origin      once
    dyno track add --check --sync origin             HEAD, in CI on the main branch
    dyno track add HEAD~3                            an earlier commit
    dyno track log --format html > track.html        what is known; also json, svg (a badge)
    dyno track check --gate                          look at possible changes

A line of a metric may seem to change: because one commit differs from the one before,
because the level of several differs from those before, or bit by bit. That alone is no
alarm. Check compares the commits on either side again, on fresh blocks, and only if these
differ is the change shown. Then it searches for the commit and the function, as dyno
bisect does. Each look may be wrong in 0.05% of cases, and there are at most two for each
measured commit: so of 1,000 commits at most one has a false alarm, on average.

The lines are in the repository, in refs/dyno/track, and --sync REMOTE fetches and pushes
them (which takes the right to push); or with --store in a directory, a bucket of S3, or
behind a URL. Several machines may add to one track. Builds of the anchor take a clone
with its history. After a rebase or a squash a line stays with the commit that has the
same content. An anchor that does not build any more is replaced by a measured commit, so
that levels go on; dyno track init with --anchor REVISION chooses one. A run that is cut
off leaves no line: run it again. The runs themselves are in dyno-runs, as always.`

	Tune = `Tune measures a service as it runs today, predicts the effect of other settings of the
garbage collector, and records the predictions. Then it measures the most promising
settings side by side with today's. It recommends a setting only if it measured better,
and "keep what you have" otherwise. TARGET is as for dyno run.

    dyno tune ./cmd/server -- -addr '{{.Addr}}'
    dyno tune ./cmd/server --goal 'min cpu_per_req' --subject-to 'rss_peak < 400MiB'
    dyno tune -f dyno.yaml --limit memory=512MiB --subject-to 'p99 < 30ms' --total 10m
    dyno tune -f dyno.yaml --headroom --try GOMAXPROCS,pgo
    dyno tune dyno-runs/server-tune-20261121-101500 --patch kubernetes

The default goal is a sum: CPU time per request and peak memory, in per cent of today's,
where 1% of memory may cost 0.5% of CPU time (--memory-price). Tune tries GOMEMLIMIT, and
GOGC=off with it, only if memory is reserved for the service: by --limit memory=, a level
of limit.memory, or --reserve. If a plan has several settings, the first is today's.

The directory has a run for each stage: 1-today, 2-candidates, 3-more, 4-headroom. The
commands report, compare and view read them. Tune writes predictions.json before
2-candidates begins. Ctrl-C keeps the results so far, and
--resume DIR goes on with them, as after a crash.

KIND of --try is GOMAXPROCS (half of it, and the CPU limit), pgo (a build with the CPU
profile of today's setting), or a factor of --vary with a level: go=1.27.4,
GOEXPERIMENT=nogreenteagc.`

	Upgrade = `Upgrade compares a service as it is with the same service built with a later Go, or with
later modules: "safe" if all that you allow surely holds, "not safe" if some of it surely
does not, else "not decided" when the time is up. It first says what differs before anything
is built: the go line, GODEBUG settings and experiments whose default is another, and
lines of go.mod and of the main package with which the new Go does not build.

    dyno upgrade ./cmd/server --to go1.27 --path /
    dyno upgrade ./cmd/server --to go1.27.4 --allow 'p99 5%' --allow 'rss_peak 5%'
    dyno upgrade ./cmd/server --to github.com/jackc/pgx/v5@v5.8.0
    dyno upgrade -f dyno.yaml --to all --strict

What a metric may change is --allow, else a threshold of the plan such as change(p99) < 5%.
If a metric surely changed, upgrade turns back the new defaults, half of them at a time,
side by side with both versions: experiments (GOEXPERIMENT=noNAME), the go line and the
GODEBUG settings that come with it, or modules. In the end it turns back one of them, alone
on fresh blocks: only if that surely moves the metric back is it called the cause.

Your go.mod stays as it is. The go command fetches toolchains and modules. If it does not
build, or what you allow fails, the exit status is 99; with --strict also if a default
fails, and 98 if it is not decided. Ctrl-C keeps the results so far, and --resume DIR
goes on with them, as after a crash.`
)
