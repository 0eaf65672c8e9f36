package receipt

import (
	"strconv"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/findings/predict"
)

// Levels are what a collector is told, as a setting in which both variables stand.
func Levels(s gcmodel.Setting) dyno.Setting {
	limit := predict.Limit(s)
	if limit == "" {
		limit = "off"
	}
	return dyno.Setting{{Factor: "GOGC", Value: predict.GOGC(s)}, {Factor: "GOMEMLIMIT", Value: limit}}
}

// LevelsOf are the levels of a plan's setting, with what its process is told of collections.
func LevelsOf(plan *dyno.Experiment, s dyno.Setting) dyno.Setting {
	t, err := plan.Written(s)
	if err != nil {
		return s
	}
	collector, _ := predict.SettingOf(t.Subject.Env) // a limit that is malformed was refused when it was measured
	return With(Levels(collector), s)
}

// Program are levels that no plan may say, but that a window shows.
func Program(goVersion string, procs float64) (s dyno.Setting) {
	if goVersion != "" {
		s = append(s, dyno.Level{Factor: "go", Value: goVersion})
	}
	if procs > 0 {
		s = append(s, dyno.Level{Factor: "GOMAXPROCS", Value: strconv.FormatFloat(procs, 'f', -1, 64)})
	}
	return s
}

// With adds the levels of a setting whose factors are not there yet.
func With(levels, more dyno.Setting) dyno.Setting {
	for _, l := range more {
		if _, ok := levels.Get(l.Factor); !ok {
			levels = append(levels, l)
		}
	}
	return levels
}

// Promised is a setting of a plan as promises have it.
func Promised(plan *dyno.Experiment, s dyno.Setting) answer.Setting {
	return answer.Setting{Name: s.String(), Levels: LevelsOf(plan, s)}
}

// told is what the levels tell the collector.
func told(levels dyno.Setting) gcmodel.Setting {
	gogc, _ := levels.Get("GOGC")
	limit, _ := levels.Get("GOMEMLIMIT")
	s, _ := predict.SettingOf(map[string]string{"GOGC": gogc, "GOMEMLIMIT": limit}) // a limit that is malformed was refused when it was measured
	return s
}

// windowOf keeps the first of too many cycles, and their part of what was counted.
func windowOf(w *predict.Window) Window {
	part := 1.0
	cycles := w.Cycles
	if n := len(cycles); n > mostCycles {
		cycles, part = cycles[:mostCycles], float64(mostCycles)/float64(n)
	}
	k := Window{
		Levels: Levels(w.Setting), Launches: max(w.Launches, 1), Left: int(part * float64(w.Left)),
		Requests: Number(part * w.Requests), Elapsed: Number(part * w.Elapsed), Alloc: Number(part * w.Alloc), CPU: Number(part * w.CPU), GCCPU: Number(part * w.GCCPU),
		Procs: Number(w.Procs), RSSPeak: Number(w.RSSPeak), HeapPeak: Number(w.HeapPeak), Mapped: Number(w.Mapped), Overhead: Number(w.Overhead), Filling: Number(w.Filling),
		Cycles: make([][8]float64, len(cycles)),
	}
	for i, c := range cycles {
		exact := 0.0
		if c.Exact {
			exact = 1
		}
		k.Cycles[i] = [8]float64{c.Trigger, c.End, c.Marked, c.Goal, c.Mark, c.Assist, c.Idle, exact}
	}
	return k
}

func (k *Window) window() gcmodel.Window {
	w := gcmodel.Window{
		Setting: told(k.Levels), Left: k.Left, Launches: k.Launches, Requests: float64(k.Requests), Elapsed: float64(k.Elapsed), Alloc: float64(k.Alloc),
		CPU: float64(k.CPU), GCCPU: float64(k.GCCPU), Procs: float64(k.Procs), RSSPeak: float64(k.RSSPeak), HeapPeak: float64(k.HeapPeak),
		Mapped: float64(k.Mapped), Overhead: float64(k.Overhead), Filling: float64(k.Filling),
	}
	for _, c := range k.Cycles {
		w.Cycles = append(w.Cycles, gcmodel.Cycle{Trigger: c[0], End: c[1], Marked: c[2], Goal: c[3], Mark: c[4], Assist: c[5], Idle: c[6], Exact: c[7] != 0})
	}
	return w
}

// fit is the model again.
func (m *Model) fit() *gcmodel.Model {
	var ws []gcmodel.Window
	for i := range m.Windows {
		ws = append(ws, m.Windows[i].window())
	}
	return gcmodel.Fit(ws...)
}

// requests are those of all windows.
func (m *Model) requests() (n float64) {
	for i := range m.Windows {
		n += float64(m.Windows[i].Requests)
	}
	return n
}
