package plan

import (
	"strconv"

	"github.com/dynolab/dyno"
	"github.com/goccy/go-yaml/ast"
)

func (d *decoder) bench(n ast.Node, b *dyno.Bench) {
	d.mapping(n, fields{
		"packages": d.texts(&b.Packages),
		"match":    d.text(&b.Match),
		"cpus": func(n ast.Node) {
			v, err := strconv.Atoi(d.scalar(n))
			if b.CPUs = v; err != nil {
				d.fail(n, "want a whole number of CPUs, or -1 for any, got %s", kind(n))
			}
		},
		"duration":  d.positive(&b.Duration),
		"sample":    d.positive(&b.Sample),
		"blocks":    d.count(&b.Blocks),
		"precision": d.fraction(&b.Precision),
		"error":     d.fraction(&b.Error),
	})
}
