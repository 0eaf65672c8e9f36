package campaign

import (
	"context"
	"fmt"
	"slices"

	"github.com/dynolab/dyno/internal/lab/gobench"
	"github.com/dynolab/dyno/internal/subject"
	"github.com/dynolab/dyno/internal/subject/samecode"
)

// sameCode tells which benchmarks are the same code in all settings, by import path. The error says why that is not known, or does not count.
func sameCode(ctx context.Context, b *subject.Builder, settings [][]*subject.TestPackage) (map[string]gobench.Functions, error) {
	baseline, err := b.Compiled(ctx, settings[0])
	if err != nil {
		return nil, err
	}
	found := map[string]gobench.Functions{}
	var r samecode.Reader
	for i, tests := range settings[1:] {
		compiled, err := b.Compiled(ctx, tests)
		if err != nil {
			return nil, err
		}
		for path, binary := range compiled {
			same, other, err := r.Benchmarks(path, baseline[path], binary)
			if err != nil {
				return nil, err
			}
			f := found[path]
			if i == 0 {
				f.Same = same
			}
			for _, name := range other {
				if !slices.Contains(f.Other, name) {
					f.Other = append(f.Other, name)
				}
			}
			f.Same = slices.DeleteFunc(f.Same, func(name string) bool { return slices.Contains(f.Other, name) })
			found[path] = f
		}
	}
	for _, f := range found {
		if len(f.Same) > 0 {
			return found, sameData(ctx, b, settings)
		}
	}
	return nil, nil
}

// sameData is an error that names a file which benchmarks may read and which is not the same in all settings.
func sameData(ctx context.Context, b *subject.Builder, settings [][]*subject.TestPackage) error {
	baseline, err := b.Tree(ctx, settings[0][0])
	if err != nil {
		return err
	}
	for _, tests := range settings[1:] {
		tree, err := b.Tree(ctx, tests[0])
		if err != nil {
			return err
		}
		if name := samecode.Data(baseline, tree); name != "" {
			return fmt.Errorf("%s, which they may read, is not the same in all settings", name)
		}
	}
	return nil
}
