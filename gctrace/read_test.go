package gctrace

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// What no toolchain at hand prints any more, in the form that the sources of
// those versions give it: Go 1.5 and 1.6 (five phases, then three), and the
// scavenger of 1.5 to 1.12, of 1.13 to 1.15, and of 1.16 and 1.17.
const (
	log15 = `scvg0: inuse: 0, idle: 0, sys: 1, released: 0, consumed: 1 (MB)
pacer: assist ratio=+2.5e+001 (scan 230 MB in 312->320 MB) workers=2+0
pacer: H_m_prev=244520961 h_t=+7.9e-001 H_T=301488290 h_a=+3.5e-001 H_a=331654201 h_g=+1.0e+000 H_g=489041921 u_a=+1.0e+000 u_g=+2.5e-001 W_a=124588841 goalΔ=+2.0e-001 actualΔ=-4.3e-001 u_a/u_g=+4.0e+000
gc 7 @0.714s 9%: 0.16+0.51+3.8+9.9+0.17 ms clock, 0.64+0.51+0+0.007/3.4/10+0.69 ms cpu, 3->4->2 MB, 5 MB goal, 32 P
pacer: sweep done at heap size 334MB; allocated 96MB of spans; swept 40755 pages
scvg1: 17 MB released
scvg-1: 15 MB released
scvg1: inuse: 4, idle: 59, sys: 63, released: 57, consumed: 5 (MB)
GC forced
gc 8 @0.900s 9%: 3.2+0+0+0+7.4 ms clock, 25+0+0+0/0.002/0+59 ms cpu, 3->3->3 MB, 3 MB goal, 32 P (forced)
`
	log113 = `scvg: 8 MB released
scvg: inuse: 4, idle: 59, sys: 63, released: 57, consumed: 5 (MB)
gc 1 @0.011s 7%: 0.015+0.59+0.096 ms clock, 0.19+0.10/1.3/3.0+1.1 ms cpu, 4->4->2 MB, 5 MB goal, 12 P
scav 3 128 KiB work, 1560 KiB total, 52% util
scav 64 KiB work, 1560 KiB total, 52% util (forced)
scavenging is a word of the log
`
)

func cyclesOf(t testing.TB, text string) ([]Cycle, Text) {
	t.Helper()
	var cycles []Cycle
	sum, err := read(strings.NewReader(text), func(c *Cycle, line []byte) {
		var p pace
		again, ok := p.parse(line)
		if again.N, c.Forced = c.N, again.Forced; !ok || again.Start != c.Start || again.Procs != c.Procs {
			t.Errorf("cycle %+v came with line %q", c, line)
		}
		cycles = append(cycles, *c)
	}, make([]byte, 2*lineMost))
	if err != nil {
		t.Fatal(err)
	}
	if sum.Bytes != int64(len(text)) {
		t.Errorf("%d bytes counted of %d", sum.Bytes, len(text))
	}
	return cycles, sum
}

func TestReadAllAges(t *testing.T) {
	files, _ := filepath.Glob("testdata/log/*.txt")
	if len(files) < 9 {
		t.Fatalf("only %d samples", len(files))
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		cycles, sum := cyclesOf(t, text)
		lines := "\n" + text
		if want := strings.Count(lines, "\ngc "); len(cycles) != want || sum.Torn+sum.Lost != 0 {
			t.Errorf("%s: %d cycles, %d lines: %+v", file, len(cycles), want, sum)
		}
		if scav := strings.Count(lines, "\nscav "); sum.Scavenger != int64(scav) {
			t.Errorf("%s has %d lines of the scavenger: %+v", file, scav, sum)
		}
		for i, c := range cycles {
			if c.N != i+1 || c.Procs != 2 {
				t.Errorf("%s: cycle %d is %+v", file, i, c)
			}
		}
	}
	cycles, sum := cyclesOf(t, log15)
	if len(cycles) != 2 || sum.Pacer != 3 || sum.Scavenger != 4 || sum.Scavenged != 32<<20 {
		t.Fatalf("%+v %+v", cycles, sum)
	}
	const MiB = 1 << 20
	const us = time.Microsecond
	want := Cycle{N: 7, Start: 714 * ms, Percent: 9, SweepTerm: 160 * us, Mark: 14_210 * us, MarkTerm: 170 * us,
		SweepTermCPU: 640 * us, Assist: 7 * us, Background: 3910 * us, Idle: 10 * ms, MarkTermCPU: 690 * us,
		HeapStart: 3 * MiB, HeapEnd: 4 * MiB, Live: 2 * MiB, Goal: 5 * MiB, Procs: 32}
	if cycles[0] != want {
		t.Errorf("%+v, want %+v", cycles[0], want)
	}
	if !cycles[1].Forced {
		t.Error("cycle 8 is not forced")
	}
	if cycles, sum := cyclesOf(t, log113); len(cycles) != 1 || sum.Scavenger != 4 || sum.Scavenged != 8<<20+192<<10 {
		t.Errorf("%+v %+v", cycles, sum)
	}
}

// Every line, cut at every place by every log text, in a file: it is read
// rightly, or counted as lost. It is not lost where a line of the log was inside
// that begins with a letter or a time stamp.
func TestReadTorn(t *testing.T) {
	texts := samples(t)
	texts["go1.5"], texts["go1.13"], texts["go1.17"] = log15, log113, strings.Replace(log113, "12 P", "12 P (forced)", 1)
	torn, lost, unseen := 0, 0, 0
	for name, text := range texts {
		if testing.Short() && name != "go1.26.8.txt" && name != "go1.5" {
			continue
		}
		whole, _ := cyclesOf(t, text)
		var lines []string
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "gc ") {
				lines = append(lines, line)
			}
		}
		for l, line := range lines[:min(len(lines), 3)] {
			ps := piecesOf(line)
			before := strings.Join(lines[:l], "")
			for i := 1; i < len(ps); i++ {
				for _, intruder := range intruders {
					if strings.HasPrefix(ps[i], intruder) || intruder == " " {
						continue // exchanged for its like
					}
					log := before + strings.Join(ps[:i], "") + intruder + strings.Join(ps[i:], "") + "after\n"
					got, sum := cyclesOf(t, log)
					torn++
					if len(got) == l && sum.Torn == 0 {
						lost++
						if c := intruder[0]; strings.HasSuffix(intruder, "\n") && (letter(c) || stamped([]byte(intruder))) {
							t.Errorf("%s: %q is lost: %+v", name, log[len(before):], sum)
						}
						if sum.Lost == 0 {
							unseen++
						}
						continue
					}
					if len(got) != l+1 || sum.Lost > 0 {
						t.Fatalf("%s: %d cycles instead of %d of %q: %+v", name, len(got), l+1, log[len(before):], sum)
					}
					a, b := got[l], whole[l]
					for _, c := range []*Cycle{&a, &b} {
						c.Paced, c.HeapStart, c.HeapEnd, c.Goal = false, float64(int(c.HeapStart)>>20), float64(int(c.HeapEnd)>>20), float64(int(c.Goal)>>20)
					}
					if a != b {
						t.Errorf("%s: %q is read as\n%+v, not\n%+v", name, log[len(before):], got[l], whole[l])
					}
				}
			}
		}
	}
	t.Logf("%d torn lines: %d lost, of which %d do not look like lines", torn, lost, unseen)
	if lost > torn/3 || unseen > torn/20 { // the log texts are made to mislead
		t.Errorf("%d of %d torn lines were lost, of which %d do not look like lines", lost, torn, unseen)
	}
}

// piecesOf cuts a gc line of any age where the runtime begins a new write.
func piecesOf(line string) (ps []string) {
	at := 0
	for rest := []byte(line); len(rest) > 0; {
		size, here, _ := anyAge.step(at, rest)
		ps, rest, at = append(ps, string(rest[:size])), rest[size:], here+1
	}
	return ps
}

// A log as a busy service writes it: lines cut several times, and text that
// looks like ours. A line is lost if too little of it is between two cuts.
func TestReadStream(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	texts := samples(t)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		text := texts[name]
		var log strings.Builder
		lines, torn := 0, 0
		for range 5 {
			for line := range strings.Lines(text) {
				if !strings.HasPrefix(line, "gc ") {
					log.WriteString(line)
					continue
				}
				lines++
				cut := 0
				for _, p := range piecesOf(line) {
					log.WriteString(p)
					if p[len(p)-1] != '\n' && rnd.IntN(100) == 0 {
						cut = 1
						for range 1 + rnd.IntN(3) {
							log.WriteString([]string{"GET /x 200\n", "{\"level\":\"info\",\"n\":5}\n", "2026/01/02 15:04:05 done\n", "gc is slow\n"}[rnd.IntN(4)])
						}
					}
				}
				torn += cut
			}
		}
		got, sum := cyclesOf(t, log.String())
		if len(got) != lines-torn+int(sum.Torn) || sum.Torn+sum.Lost > int64(torn) || int(sum.Torn) < torn*3/4 {
			t.Errorf("%s: %d cycles of %d lines, %d of them torn: %+v", name, len(got), lines, torn, sum)
		}
	}
}

func TestReadAmongOtherText(t *testing.T) {
	long := strings.Repeat("x", 3*readSize)
	for name, text := range map[string]string{
		"time stamps":       "2026-11-22T01:02:03Z stderr F " + line117 + "Nov 22 host svc[3]: " + lineLeak,
		"carriage returns":  strings.ReplaceAll(line117+lineLeak, "\n", "\r\n"),
		"no newline":        "progress 50%" + line117 + "gc gc " + lineLeak,
		"no newline at end": line117 + strings.TrimSuffix(lineLeak, " (forced)\n"),
		"long lines":        long + "\n" + line117 + long + lineLeak + long,
		"cut by a long one": line117[:19] + long + "\n" + line117[19:] + lineLeak,
		"about collections": "gc 5 done\ngc is slow\n" + line117 + "gc 12345 objects\n5 apples\ngc\n" + lineLeak,
		"forced, torn":      line117 + strings.TrimSuffix(lineLeak, " (forced)\n") + "a\nb\n (forced)\n",
	} {
		got, sum := cyclesOf(t, text)
		if len(got) != 2 || got[0].N != 5 || got[1].N != 7 || sum.Lost != 0 {
			t.Errorf("%s: %+v\n%+v", name, got, sum)
		}
		if name != "no newline at end" && len(got) == 2 && !got[1].Forced {
			t.Errorf("%s: %+v is not forced", name, got[1])
		}
	}
	if got, sum := cyclesOf(t, line117[:40]+"panic: x\n"+lineLeak); len(got) != 1 || sum.Lost != 1 {
		t.Errorf("a line whose rest is gone: %+v %+v", got, sum)
	}
}

func TestReadError(t *testing.T) {
	n := 0
	_, err := Read(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(line117))), func(*Cycle, []byte) { n++ })
	if err != iotest.ErrTimeout || n != 0 {
		t.Errorf("%d cycles, %v", n, err)
	}
}

// The fast way finds nothing but what the grammar does, and the whole lines of
// today's runtime it finds all.
func FuzzFastLine(f *testing.F) {
	for _, text := range append([]string{log15, log113, line117, lineLeak}, slices.Collect(maps.Values(samples(f)))...) {
		for line := range strings.Lines(text) {
			f.Add([]byte(line))
			if strings.HasPrefix(line, "gc ") && strings.Contains(line, " stacks") && line != lineLeak {
				if _, ok := new(pace).fast([]byte(line)); !ok {
					f.Errorf("the fast way does not take %q", line)
				}
			}
		}
	}
	f.Add([]byte("gc 1 @1.s 0%: 00+1e3+.5 ms clock"))
	f.Fuzz(func(t *testing.T, line []byte) {
		fast, ok := new(pace).fast(line)
		slow, also := new(pace).parse(line)
		if ok && (!also || fast != slow) {
			t.Errorf("%q: %+v, but by the grammar %v %+v", line, fast, also, slow)
		}
	})
}

// The largest part of a log: requests, and a gc line for every few of them.
func benchLog() []byte {
	var b bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&b, "2026/11/22 10:15:%02d.%06d level=info method=POST path=/sessions/%d status=200 bytes=%d\n", i/1000%60, i, i%977, 1000+i%500)
		if i%3 == 0 {
			fmt.Fprintf(&b, "gc %d @%d.%03ds 14%%: 0.0%02d+0.33+0.051 ms clock, 0.056+0.12/0.56/0.94+0.61 ms cpu, %d->%d->%d MB, %d MB goal, 0 MB stacks, 0 MB globals, 12 P\n",
				i/3+1, i/1000, i%1000, 10+i%90, 400+i%7, 410+i%9, 200+i%5, 420+i%9)
		}
		if i%60 == 0 {
			fmt.Fprintf(&b, "gc %d @%d.%03ds 14%%: 0.012026/11/22 10:15:00 a line between\n+0.33+0.051 ms clock, 0.056+0.12/0.56/0.94+0.61 ms cpu, 400->401->200 MB, 420 MB goal, 12 P\n", i/3+2, i/1000, i%1000)
		}
	}
	return b.Bytes()
}

func BenchmarkRead(b *testing.B) {
	log := benchLog()
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		if sum, err := Read(bytes.NewReader(log), func(*Cycle, []byte) {}); err != nil || sum.Torn != 334 {
			b.Fatal(sum, err)
		}
	}
}
