//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

// services are three of dyno's examples, and one of others.
func (b *bench) services() []service {
	example := func(name string) string { return "package: " + b.root + "/examples/" + name }
	return []service{
		{"sessions", example("sessions") + `, args: ["-addr", "{{.Addr}}", "-users", "30000"], env: {LOG_LEVEL: error}, ready: /healthz`,
			`concurrency: 2, client: {
    setup: [{method: POST, path: /sessions, headers: {Content-Type: application/json}, body: '{"user":"demo","password":"demo"}', expect: 201, capture: {id: .id}}],
    loop: [{method: PATCH, path: "/sessions/{{.id}}", headers: {Content-Type: application/merge-patch+json}, body: '{"visits":{{.n}},"device":{"app":"mail"}}', expect: 200}]}`},
		{"search", example("search") + `, args: ["-addr", "{{.Addr}}"], ready: /healthz`,
			`concurrency: 4, method: POST, path: "/search?term=topic&cnn=on&bbc=on&nyt=on", expect: 200`},
		{"hash", example("hash") + `, args: ["-addr", "{{.Addr}}", "-size", "1048576"], ready: /healthz`,
			`concurrency: 4, path: /hash`},
		{"httpbin", `module: github.com/mccutchen/go-httpbin/v2/cmd/go-httpbin@v2.26.0, args: ["-host", "{{.Host}}", "-port", "{{.Port}}"], ready: /status/200`,
			`concurrency: 4, method: POST, path: /anything, body: '{"name":"dyno","values":[1,2,3,4]}'`},
	}
}

// exhaustive is the grid, with today's setting.
var exhaustive = []int{100, 25, 35, 50, 70, 140, 200, 280, 400, 560, 800, 1600}

// price is that of memory in the sum that dyno tune makes least unless told otherwise.
const price = 0.5

const gridLength = 1500 * time.Millisecond

// found asks how far the recommended settings are from the best of a grid.
func (b *bench) found(ctx context.Context, goals *program.Goals) error {
	total, blocks := cmp.Or(b.total, 2*time.Minute), cmp.Or(b.blocks, 24)
	for _, s := range b.services() {
		if !b.chosen(s.name) {
			continue
		}
		program.Progress("%s", s.name)
		t, err := b.tune(ctx, s, s.name+"-tune", exhaustive[0], 0, total)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		gogcs := exhaustive
		if t.gogc > 0 && !slices.Contains(gogcs, t.gogc) {
			gogcs = append(slices.Clone(gogcs), t.gogc)
		}
		g, err := b.grid(ctx, s, gogcs, blocks, gridLength)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		sum := func(gogc int) float64 {
			cpu, memory := g.ratios(gogc, exhaustive[0])
			return (cpu + price*memory) / (1 + price)
		}
		best := slices.MinFunc(exhaustive, func(x, y int) int { return cmp.Compare(sum(x), sum(y)) })
		chosen := cmp.Or(t.gogc, exhaustive[0])
		fmt.Printf("\n%s: dyno tune says GOGC=%d (%s) after %.0f s; the grid took %.0f s\n", s.name, chosen, t.why, t.took.Seconds(), g.took.Seconds())
		for _, gogc := range slices.Sorted(slices.Values(gogcs)) {
			cpu, memory := g.ratios(gogc, exhaustive[0])
			fmt.Printf("  GOGC=%-5d CPU %+6.1f %%  memory %+6.1f %%  sum %+6.1f %%\n", gogc, 100*(cpu-1), 100*(memory-1), 100*(sum(gogc)-1))
		}
		off := sum(chosen)/sum(best) - 1
		goals.Judge(s.name+": at most 2 % from the best of the grid", fmt.Sprintf("%+.1f %% (best GOGC=%d)", 100*off, best), off <= 0.02)
		share := t.took.Seconds() / g.took.Seconds()
		goals.Judge(s.name+": in at most a quarter of the grid's time", fmt.Sprintf("%.0f %%", 100*share), share <= 0.25)
	}
	return nil
}
