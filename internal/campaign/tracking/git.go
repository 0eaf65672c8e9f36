package tracking

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/dynolab/dyno/internal/subject"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// git runs it in a directory without what the user's configuration makes of its output, and returns that without its last newline.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	argv := append([]string{"git", "--no-replace-objects", "-c", "core.hooksPath=" + os.DevNull, "-c", "log.showSignature=false"}, args...)
	var stdout, stderr strings.Builder
	status, err := subject.RunTool(ctx, argv, nil, dir, &stdout, &stderr)
	if err == nil && status != guard.StatusOK {
		err = errors.New(status)
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSuffix(stdout.String(), "\n"), nil
}
