package subject

import (
	"context"
	"errors"
	"io"
)

// To be deleted when the rooms are merged.

func RunBenchOnce(ctx context.Context, path string, o BenchOptions, stdout io.Writer) (status string, err error) {
	return "", errors.New("not built yet")
}

func (b *Builder) LinkSurvey(ctx context.Context, p *TestPackage) (path string, err error) {
	return "", errors.New("not built yet")
}
