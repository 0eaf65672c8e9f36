package remote

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/subject/guard"
)

func TestMain(m *testing.M) {
	guard.Main()
	os.Setenv("GOPROXY", "off") // no test needs the network
	os.Exit(m.Run())
}

// server writes a module with the main package server, and makes it the working directory.
func server(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for file, text := range map[string]string{"go.mod": "module example.org/x\n\ngo 1.22\n", "server/main.go": "package main\n\nfunc main() {}\n"} {
		os.MkdirAll(filepath.Dir(file), 0o777)
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// compiled builds the package server with flags of the go command.
func compiled(t *testing.T, flags ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "own")
	cmd := exec.Command("go", append(append([]string{"build", "-o", file}, flags...), "./server")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// runImage runs dyno image, where self is the executable of dyno.
func runImage(self string, args ...string) (stdout, stderr string, err error) {
	cmd := newImage("v0.1.0+dirty", func() (string, error) { return self, nil })
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	var o, e bytes.Buffer
	cmd.SetOut(&o)
	cmd.SetErr(&e)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(context.Background())
	return o.String(), e.String(), err
}

// A made is what a file has of an image.
type made struct {
	Architecture string
	Config       struct {
		Entrypoint, Cmd, Env []string
		User                 string
		Labels               map[string]string
	}
	repoTags []string
}

func read(t *testing.T, file string) (m made) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for tr := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name], _ = io.ReadAll(tr)
	}
	var save []struct {
		Config   string
		RepoTags []string
	}
	err = json.Unmarshal(files["manifest.json"], &save)
	if err = errors.Join(err, json.Unmarshal(files[save[0].Config], &m)); err != nil {
		t.Fatal(err)
	}
	m.repoTags = save[0].RepoTags
	return m
}

func TestImageOfPackage(t *testing.T) {
	server(t)
	stdout, stderr, err := runImage("", "./server")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^server:latest sha256:[0-9a-f]{64} \d+\.\d MiB\n$`).MatchString(stdout) {
		t.Errorf("stdout %q", stdout)
	}
	for _, want := range []string{"building ", "ctr -n k8s.io images import server.tar ", "crane push server.tar REGISTRY/server:latest\n", "imagePullPolicy"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, stderr)
		}
	}
	m := read(t, "server.tar")
	labels := m.Config.Labels
	if labels["dev.dyno.injected"] != "true" || labels["dev.dyno.go"] != runtime.Version() || len(labels["dev.dyno.sum"]) != 16 || len(labels) != 3 {
		t.Errorf("labels %v", labels)
	}
	if m.Architecture != runtime.GOARCH || len(m.Config.Env) != 0 || len(m.Config.Cmd) != 0 || m.Config.Entrypoint[0] != "/bin/server" {
		t.Errorf("%+v", m)
	}
	again, _, err := runImage("", "./server", "-o", "again.tar")
	if err != nil || again != stdout {
		t.Errorf("again: %v, %q", err, again)
	}
}

func TestImageForOtherMachines(t *testing.T) {
	server(t)
	stdout, stderr, err := runImage("", "./server", "--inject=false", "--arch", "arm64", "--tag", "registry.test/a/b:v1", "--out", "b.tar", "--build", "-ldflags=-s")
	if err != nil || !strings.HasPrefix(stdout, "registry.test/a/b:v1 sha256:") || !strings.Contains(stderr, "crane push b.tar registry.test/a/b:v1\n") || strings.Contains(stderr, "imagePullPolicy") {
		t.Errorf("%v, %q\n%s", err, stdout, stderr)
	}
	if m := read(t, "b.tar"); m.Architecture != "arm64" || m.Config.Labels["dev.dyno.injected"] != "false" || m.repoTags[0] != "registry.test/a/b:v1" {
		t.Errorf("%+v", m)
	}
}

func TestImageOfAgent(t *testing.T) {
	server(t)
	stdout, _, err := runImage(compiled(t), "--agent", "-o", "dyno.tar")
	if err != nil || !strings.HasPrefix(stdout, "dyno:v0.1.0-dirty ") {
		t.Fatalf("%v, %q", err, stdout)
	}
	m := read(t, "dyno.tar")
	if got := strings.Join(append(m.Config.Entrypoint, m.Config.Cmd...), " "); got != "/dyno agent" || m.Config.Labels["dev.dyno.injected"] != "false" || m.Config.User != "65532:65532" {
		t.Errorf("%+v", m)
	}
}

func TestImageRefuses(t *testing.T) {
	server(t)
	static := compiled(t)
	t.Run("dynamic", func(t *testing.T) {
		if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
			t.Skip("on other systems, the go command needs a C compiler for -buildmode=pie")
		}
		const want = "is not a static linux executable: it wants a loader and libraries"
		pie := compiled(t, "-buildmode=pie")
		for cure, args := range map[string][]string{
			"CGO_ENABLED=0 go install": {"--agent"}, "its package,": {pie}, "--build without -buildmode": {"./server", "--inject=false", "--build", "-buildmode=pie"},
		} {
			_, _, err := runImage(pie, args...)
			if err == nil || !strings.Contains(err.Error(), want+" (consider: "+cure) {
				t.Errorf("%v: %v", args, err)
			}
		}
	})
	for want, args := range map[string][]string{
		"no package given":               {},
		"not of ./server (want one":      {"--agent", "./server"},
		"--rev is for a package":         {"--agent", "--rev", "main"},
		"--inject is for a package":      {static, "--inject=false"},
		"neither a package nor an exec":  {"http://127.0.0.1/"},
		`--tag: bad image name "Server"`: {"./server", "--tag", "Server"},
		"./missing does not exist":       {"./missing"},
	} {
		_, _, err := runImage(static, args...)
		var mistake *flags.Mistake
		if !errors.As(err, &mistake) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; want %s", args, err, want)
		}
	}
	if left, _ := filepath.Glob("*.tar*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}
