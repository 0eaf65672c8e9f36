//go:build linux

// Chaos shows whether dyno loses, leaves or hangs anything: it starts dyno some hundred times and does each time
// what must not happen: dyno or its guards are killed, disks fill up, directories go away, services and answers
// are hostile, and so are run directories and plans.
//
//	go run ./chaos                      each kind of fault 10 times, some twenty minutes; Linux, root
//	go run ./chaos -n 1 -check          the short form of .ci/run
//	go run ./chaos -only kill,disk      the kinds whose names have one of these words
//
// Nothing of dyno is imported, so that no mistake is made twice.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/dynolab/dyno/eval/internal/program"
)

const programName = "eval/chaos"

type options struct {
	n, atOnce        int
	seed             uint64
	only, dyno, keep string
	check            bool
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 10, "`number` of faults of each kind")
	flag.IntVar(&o.atOnce, "at-once", 2*runtime.NumCPU(), "`number` of faults at the same time")
	flag.Uint64Var(&o.seed, "seed", rand.Uint64(), "`number` that the moments and variants come from")
	flag.StringVar(&o.only, "only", "", "`words`, with commas between, of the names of kinds")
	flag.StringVar(&o.dyno, "dyno", "", "this `program` instead of building ./cmd/dyno")
	flag.StringVar(&o.keep, "keep", "", "keep the directories of faults that went wrong in this `dir`ectory")
	flag.BoolVar(&o.check, "check", false, "exit with status 1 if a goal was missed")
	flag.Parse()
	chosen := choose(o.only)
	if len(chosen) == 0 || flag.NArg() > 0 || o.n < 1 || o.atOnce < 1 {
		flag.Usage()
		os.Exit(2)
	}
	program.Main(programName, func(ctx context.Context) error { return campaign(ctx, o, chosen) })
}

func choose(only string) []kind {
	if only == "" {
		return kinds()
	}
	return slices.DeleteFunc(kinds(), func(k kind) bool {
		return !slices.ContainsFunc(strings.Split(only, ","), func(word string) bool { return strings.Contains(k.name, word) })
	})
}

// A kind is one way in which things go wrong.
type kind struct {
	name string
	do   func(*try) error // an error says that the fault could not be done
}

func kinds() []kind {
	return slices.Concat(deaths(), guards(), disks(), subjects(), answers(), directories(), plans(), users())
}

func campaign(ctx context.Context, o options, chosen []kind) error {
	if os.Geteuid() != 0 {
		return errors.New("needs root, for small disks and other users")
	}
	temp, err := os.MkdirTemp("", "chaos-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err := os.Chmod(temp, 0o711); err != nil { // other users have directories in it
		return err
	}
	b, err := newBench(ctx, o, temp)
	if err != nil {
		return err
	}
	fmt.Println(program.Machine())
	groups := controlGroups()
	var t tally
	for _, group := range slices.Collect(slices.Chunk(b.tries(chosen), o.atOnce)) {
		var all sync.WaitGroup
		for _, one := range group {
			all.Go(func() { t.add(one, one.run(ctx)) })
		}
		all.Wait()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	for _, g := range controlGroups() {
		if !slices.Contains(groups, g) {
			t.groups = append(t.groups, g)
		}
	}
	return t.print(chosen, o)
}

// tries are all faults, in random order.
func (b *bench) tries(chosen []kind) []*try {
	rng := rand.New(rand.NewPCG(b.seed, 0))
	var all []*try
	for _, k := range chosen {
		for n := range b.n {
			id := fmt.Sprintf("%s-%d", strings.ReplaceAll(k.name, " ", "-"), n)
			all = append(all, &try{bench: b, kind: k, id: id, dir: filepath.Join(b.dir, id), rng: rand.New(rand.NewPCG(b.seed, rng.Uint64()))})
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// controlGroups lists those that dyno has made.
func controlGroups() []string {
	var found []string
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "dyno-") {
			found = append(found, path)
		}
		return nil
	})
	return found
}
