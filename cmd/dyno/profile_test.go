package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/store"
)

// makeProfiles makes the run directory DIR of so many blocks of profiles of two
// settings, which are recorded ones, a little larger in each block; with 0
// blocks, a run without profiles.
//
//	profiles DIR BLOCKS
func makeProfiles(ts *testscript.TestScript, _ bool, args []string) {
	blocks, err := strconv.Atoi(args[1])
	ts.Check(err)
	e := &dyno.Experiment{
		Name: "search", Repeats: 1,
		Subject: dyno.Subject{Binary: "/bin/true", Args: []string{"{{.arg.loop}}"}, Dir: "/"},
		Factors: dyno.Factors{{Name: "arg.loop", Levels: []string{"with", "without"}}},
		Probes:  dyno.Probes{Pprof: "/debug/pprof"},
	}
	if blocks > 0 {
		e.Profile, e.ProfileRepeats = []string{"cpu", "allocs"}, blocks
	}
	recorded := map[string]string{
		"cpu with": "search-cpu-go1.22.12", "cpu without": "search-cpu-go1.27.4",
		"allocs with": "search-allocs-a", "allocs without": "search-allocs-fast",
	}
	dir, err := store.Create(ts.MkAbs(args[0]), store.Run{Dyno: "test", Plan: e})
	ts.Check(err)
	for _, t := range e.Trials() {
		r := &dyno.Result{Trial: t, Start: time.Unix(1700000000, 0), Elapsed: time.Second, Sent: dyno.Sent{Requests: 4000}}
		trial, err := dir.TrialDir(t.N)
		ts.Check(err)
		for _, kind := range t.Profile {
			data, err := os.ReadFile(filepath.Join(testdata, recorded[kind+" "+t.Setting[0].Value]+".pb.gz"))
			ts.Check(err)
			p, err := profile.ParseData(data)
			ts.Check(err)
			for _, f := range p.Function {
				f.Filename = strings.Replace(f.Filename, "/tmp/hdiff/", "/nowhere/", 1)
			}
			p.Scale(1 + 0.002*float64(t.Block))
			f, err := os.Create(filepath.Join(trial, kind+".pb.gz"))
			ts.Check(err)
			ts.Check(p.Write(f))
			ts.Check(f.Close())
		}
		ts.Check(dir.Add(r))
	}
	ts.Check(dir.Close())
}

// testdata is where the recorded profiles are; scripts run elsewhere.
var testdata, _ = filepath.Abs("../../internal/analysis/profiles/testdata")
