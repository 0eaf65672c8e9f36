package subject

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
)

// The environment of a service that dyno plants changes in: the token of a [Plant], and the path of
// the table that says what tokens stand for.
const (
	PlantEnv      = "DYNO_PLANT"
	PlantTableEnv = "DYNO_PLANT_TABLE"
)

// A Plant is what each request costs more, and what works beside them, of a service that was built with dyno.Subject.Plantable.
// The zero value is nothing.
type Plant struct {
	Spins  uint64        `json:"spins,omitempty"`         // rounds of a loop
	Retain int           `json:"retain-B,omitempty"`      // bytes that are never given back
	Hold   time.Duration `json:"hold-nanosec,omitempty"`  // for so long a request works and holds a lock that all need
	Delay  time.Duration `json:"delay-nanosec,omitempty"` // the wait of some requests, at least
	Share  float64       `json:"delayed-frac,omitempty"`  // the share of requests that wait, at random
	Burn   float64       `json:"burn-cpu-frac,omitempty"` // the share of one CPU that a goroutine works, whether requests come or not
}

// NewPlantToken returns a random name for a Plant. All have one length, as the size of the
// environment moves the stack.
func NewPlantToken() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// WritePlants writes the table of plants, by token.
func WritePlants(file string, plants map[string]Plant) error {
	var b strings.Builder
	for _, token := range slices.Sorted(maps.Keys(plants)) {
		p := plants[token]
		fmt.Fprintln(&b, token, p.Spins, p.Retain, p.Hold.Nanoseconds(), p.Delay.Nanoseconds(), p.Share, p.Burn)
	}
	return os.WriteFile(file, []byte(b.String()), 0o600)
}

// A PlantError says why nothing can be planted in a subject.
type PlantError struct {
	Subject string
	Why     string // and what would cure it
}

func (e *PlantError) Error() string {
	return fmt.Sprintf("dyno cannot plant changes in %s: %s", e.Subject, e.Why)
}

//go:embed inject/plant/plant.go
var plantText string

var requestPath = regexp.MustCompile(`func \(\w+ serverHandler\) ServeHTTP\([^)\n]*\) \{`)

// plantable makes src build with a copy of the toolchain's library in which net/http plants changes.
// The error may be a *PlantError.
//
// Note: an overlay of net/http would do, but go build refuses it for toolchains that the go command
// downloaded, as these are in the module cache. The library's path is not in what is compiled, so
// other packages come from the build cache.
func (b *Builder) plantable(ctx context.Context, src *source, s dyno.Subject, gov string) error {
	cannot := func(format string, args ...any) error {
		return &PlantError{s.String(), fmt.Sprintf(format, args...)}
	}
	if older(gov, "go1.22") {
		return cannot("it needs Go 1.22, not %s (consider: go 1.22 or newer)", gov)
	}
	args := append([]string{"list", "-deps"}, src.flags...)
	deps, err := b.command(ctx, src.dir, src.env, "go", append(append(args, s.Build...), ".")...)
	if err != nil {
		return err
	}
	if !slices.Contains(strings.Fields(deps), "net/http") {
		return cannot("it does not import net/http, the only server where dyno plants changes")
	}
	vars, err := b.goEnv(ctx, src, "GOROOT")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(vars[0], "src", "net", "http", "server.go"))
	if err != nil {
		return fmt.Errorf("read the source of net/http: %w", err)
	}
	if n := len(requestPath.FindAll(text, -1)); n != 1 {
		return cannot("net/http of %s has %d places where each request begins (want 1)", gov, n)
	}
	// On the same line, so that line numbers stay.
	server := requestPath.ReplaceAllString(string(text), "$0 dynoPlantRequest();")
	root := b.name("goroot")
	if err := linkedRoot(vars[0], root, map[string]string{
		"server.go":        server,
		"zz_dyno_plant.go": strings.Replace(plantText, "\npackage plant\n", "\npackage http\n", 1),
	}); err != nil {
		return fmt.Errorf("copy net/http: %w", err)
	}
	src.env = maps.Clone(src.env)
	src.env["GOROOT"], src.env["GOTOOLCHAIN"] = root, "local"
	src.tool = filepath.Join(root, "bin", "go")
	return nil
}

// linkedRoot makes root the GOROOT of another, in which files of net/http are replaced. The folders
// on the way there are real, since the go command does not see what is below a link as its own.
func linkedRoot(of, root string, files map[string]string) error {
	for _, at := range []struct{ dir, real string }{{"", "src"}, {"src", "net"}, {"src/net", "http"}, {"src/net/http", ""}} {
		from, to := filepath.Join(of, at.dir), filepath.Join(root, at.dir)
		if err := os.Mkdir(to, 0o700); err != nil {
			return err
		}
		entries, err := os.ReadDir(from)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if _, replaced := files[e.Name()]; e.Name() == at.real || at.real == "" && replaced {
				continue
			}
			if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
				return err
			}
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, "src", "net", "http", name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
