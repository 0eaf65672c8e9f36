package gobench

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// runHeavy gives what takes long its part of the time, over several blocks if it has to: who was in the fewest is first.
func (b *blockRun) runHeavy(ctx context.Context) error {
	if len(b.heavy) == 0 {
		return nil
	}
	b.credit += time.Duration(float64(b.light) * (1 - lightShare) / lightShare)
	for _, u := range b.heavy {
		began := time.Now()
		if b.credit <= 0 {
			break
		}
		if began.Add(u.least()).After(b.end) {
			continue
		}
		if err := b.launch(ctx, 0, []unit{u}); err != nil {
			return err
		}
		b.credit -= time.Since(began)
	}
	return nil
}

// divide gives the block its time, and finds the benchmarks that take too much of it: all others have lightShare of it at least.
func (b *blockRun) divide() {
	left := max(0, time.Until(b.end))
	b.time = left / blocksAhead
	if more := cmp.Or(b.most, b.Least) - b.block + 1; more > blocksAhead || b.most > 0 {
		b.time = max(left-time.Duration(keptFrac*float64(b.e.Bench.Duration)), left/2) / time.Duration(more)
	}
	for _, p := range b.open {
		if p.stale {
			b.repace(p)
		}
	}
	// However long linking takes, measuring is worth it.
	b.light = min(max(b.time-b.linked, time.Duration(worthLinking*float64(b.linked))), left)
	all := units(b.open)
	sum := unit(b.open).least()
	if rest := time.Duration(b.least - b.block + 1); b.block == b.first+1 && rest > 0 {
		b.whole = (rest * (sum + b.linked)).Seconds() <= beyond*time.Duration(b.e.Bench.Duration).Seconds()
	}
	if b.everyone(left) {
		sum = unit(b.open).least()
		b.light = max(b.light, sum)
	}
	if sum <= b.light {
		return
	}
	b.light = time.Duration(lightShare * float64(b.light))
	mean := func(u unit) time.Duration { return u.least() / time.Duration(len(u)) }
	slices.SortStableFunc(all, func(u, v unit) int { return cmp.Compare(mean(u), mean(v)) })
	quick := 0
	for sum = 0; quick < len(all); quick++ {
		u := all[quick]
		sum += u.least()
		if quick > 0 && (sum > b.light || mean(u) > heavyTimes*b.light/time.Duration(len(b.open))) {
			break
		}
	}
	for _, i := range b.rng.Perm(len(all) - quick) {
		b.heavy = append(b.heavy, all[quick+i])
	}
	slices.SortStableFunc(b.heavy, func(u, v unit) int { return cmp.Compare(u[0].blocks, v[0].blocks) })
	light := slices.Concat(all[:quick]...)
	b.open = slices.DeleteFunc(slices.Clone(b.open), func(p *pairing) bool { return !slices.Contains(light, p) })
}

// favoured are the benchmarks that the next block is for, of those that are open. Once all have had the blocks that can tell a change, the time
// goes to those that lack the fewest, as many as can get them before it is up: they look changed, or the same. So a change is found in
// fewer minutes, and the error of a comparison is as before: its looks are after so many blocks of its own.
func (w *Run) favoured(open []*pairing) []*pairing {
	early := func(p *pairing) bool { return p.blocks < w.Least }
	near := slices.DeleteFunc(slices.Clone(open), func(p *pairing) bool { return early(p) || p.lacks == 0 })
	slices.SortStableFunc(near, func(p, q *pairing) int { return cmp.Compare(p.lacks, q.lacks) })
	left := time.Until(w.end)
	var chosen []*pairing
	var each time.Duration
	for _, p := range near {
		each += p.pace.launch
		if time.Duration(p.lacks)*(w.linked+max(each, time.Duration(worthLinking*float64(w.linked)))) > left {
			break
		}
		chosen = append(chosen, p)
	}
	if len(chosen) == 0 {
		return open
	}
	return slices.DeleteFunc(open, func(p *pairing) bool { return !early(p) && !slices.Contains(chosen, p) })
}

// everyone reports whether all benchmarks are in this block, however long that takes: if then all get the blocks that can tell a change, or
// else, in a part of the time, a few.
func (b *blockRun) everyone(left time.Duration) bool {
	coarse := time.Duration(coarseFrac * float64(left))
	return b.whole || b.fits(b.Least, left) || b.fits(fewBlocks, coarse) || b.shorten(coarse) || b.fits(leastBlocks, coarse) || b.fits(2, coarse) ||
		b.fits(1, left/3) // how long those take that were never measured is a guess
}

// fits reports whether there is time for all benchmarks until each has so many blocks.
func (b *blockRun) fits(blocks int, left time.Duration) bool {
	fewest := blocks
	var all time.Duration
	for _, p := range b.open {
		fewest = min(fewest, p.blocks)
		all += b.likely(p)
	}
	rest := time.Duration(blocks - fewest)
	return rest > 0 && rest*(all+b.linked) <= left
}

// likely is what the shortest launch of a benchmark takes. Surveys of some milliseconds make too much of it, by as much as they did where
// turns told more.
func (w *Run) likely(p *pairing) time.Duration {
	if p.blocks > 0 || len(w.ratios) == 0 {
		return p.pace.least()
	}
	return time.Duration(float64(p.pace.least()) * middle(w.ratios))
}

// shorten makes samples shorter in all blocks, without what they would be long for, if then all benchmarks have a few blocks. It is asked
// when the speed of all is known.
func (b *blockRun) shorten(left time.Duration) bool {
	if b.block != b.first+1 || b.e.Bench.Sample > 0 {
		return false
	}
	rest := time.Duration(max(1, fewBlocks-b.block+b.first))
	fair := (left/rest - b.linked) / time.Duration(len(b.open)) // of a benchmark in a block
	samples := 1 + 2*fewestPairs                                // of a setting in the shortest launch
	b.longest = max(sampleSec, fair.Seconds()/float64(samples*len(b.sides)))
	repaceAll := func() {
		for _, p := range b.open {
			b.repace(p)
		}
	}
	if repaceAll(); b.fits(fewBlocks, left) {
		return true
	}
	b.longest = 0
	repaceAll()
	return false
}

// launches is how often a package is launched in a block, so that a block is worth the time of its link.
func (b *blockRun) launches() int {
	each := max(measuring(b.open), 1)
	return max(1, min(mostLaunches, int(worthLinking*float64(b.linked)/float64(each)), int(b.light/each)))
}

// measuring estimates how long a launch of benchmarks takes.
func measuring(open []*pairing) (d time.Duration) {
	for _, p := range open {
		d += p.pace.launch
	}
	return d
}

// expected is how long the block may take. In the first block that is the least of those to come, by what is known of benchmarks that ran once.
func (b *blockRun) expected() time.Duration {
	if b.block == b.first {
		sec := 0.0
		for _, p := range b.open {
			for _, l := range p.in {
				each := sampleSec + turnSec + l.calls(2)*(l.Outside+l.Sec*float64(l.N))
				sec += l.around + float64(1+2*fewestPairs)*each
			}
		}
		return b.linked + time.Duration(sec*float64(time.Second))
	}
	return b.linked + min(time.Duration(b.launches())*measuring(b.open), b.light)
}

// tooMuch is the time from which on the first block, where nothing is known of the others, passes over a benchmark: firstMost times its room, or
// fewMost times its share if all were in a few blocks.
func (b *blockRun) tooMuch(p *pairing) time.Duration {
	each := (max(0, time.Until(b.end))/fewBlocks - b.linked) / time.Duration(len(b.open))
	return max(firstMost*b.room(p), fewMost*each)
}

// room is the time that a benchmark may take in a launch.
func (b *blockRun) room(p *pairing) time.Duration {
	if b.block == b.first { // when nothing is known of the others
		return b.light / time.Duration(len(b.open))
	}
	return time.Duration(float64(p.pace.launch) * min(1, float64(b.light)/float64(max(measuring(b.open), 1))))
}
