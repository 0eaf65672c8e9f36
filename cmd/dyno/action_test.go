//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// gated are what a job meets: its status, and how the comment begins.
var gated = map[string]struct {
	target, base, comment string
	status                int
}{
	"regression": {"./cmd/server", "origin/main", "**Thresholds: 1 failed", exitThreshold},
	"equal":      {"./cmd/server", "HEAD~0", "**Thresholds: 0 failed", exitDone},
	"nothing":    {"./cmd/none", "origin/main", "dyno has no result", exitUsage},
}

const (
	gatedArgs = "ARGS=--path /search -c 2 -d 100ms --repeat 6"
	gate      = "GATE=--threshold change(alloc_per_req)<0.001%"
)

// The action of the repository fails on a regression, passes without, and never passes without a result; the
// pull request gets the report. Its steps are run as a runner does, with a gh that keeps what it gets.
func TestAction(t *testing.T) {
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Runs struct {
			Using string
			Steps []struct{ Name, Shell, Run string }
		}
	}
	if err := yaml.Unmarshal(text, &action); err != nil {
		t.Fatal(err)
	}
	if action.Runs.Using != "composite" || len(action.Runs.Steps) != 5 {
		t.Fatalf("%+v", action)
	}
	for name, c := range gated {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, temp := revisions(t), t.TempDir()
			gh := "#!/bin/sh\ncase $* in *--edit-last*) exit 1;; esac\nshift 4\ncat \"$1\" > " + filepath.Join(temp, "comment") + "\n"
			if err := os.WriteFile(filepath.Join(temp, "gh"), []byte(gh), 0o755); err != nil {
				t.Fatal(err)
			}
			env := append(os.Environ(), goEnviron(t)...)
			for i, kv := range env {
				if path, ok := strings.CutPrefix(kv, "PATH="); ok {
					env[i] = "PATH=" + temp + ":" + path
				}
			}
			env = append(env, "RUNNER_TEMP="+temp, "GITHUB_OUTPUT="+filepath.Join(temp, "output"), "GITHUB_STEP_SUMMARY="+filepath.Join(temp, "summary"),
				"GITHUB_ACTIONS=true", "GITHUB_WORKSPACE="+dir, "TARGET="+c.target, "BASE="+c.base, "HEAD=HEAD", "PROFILE=none", "PR=7",
				gatedArgs, gate)
			status := 0
			for _, step := range action.Runs.Steps[1:3] { // the first installs a release, the last two are of mode: track
				sh := exec.Command(step.Shell, "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
				sh.Dir, sh.Env = dir, env
				out, err := sh.CombinedOutput()
				var exit *exec.ExitError
				switch {
				case errors.As(err, &exit) && step.Name == "measure":
					status = exit.ExitCode()
					if !strings.Contains(string(out), "::error title=dyno::") {
						t.Errorf("no error is shown:\n%s", out)
					}
				case err != nil:
					t.Errorf("%s: %v\n%s", step.Name, err, out)
				}
				if step.Name == "measure" && status != c.status {
					t.Errorf("status %d, want %d\n%s", status, c.status, out)
				}
			}
			comment, err := os.ReadFile(filepath.Join(temp, "comment"))
			if err != nil || !strings.Contains(string(comment), c.comment) {
				t.Errorf("%v, the comment is\n%s", err, comment)
			}
		})
	}
}

// The component for GitLab ends alike. Its script is run as a runner does.
func TestComponent(t *testing.T) {
	text, err := os.ReadFile("../../templates/compare.yml")
	if err != nil {
		t.Fatal(err)
	}
	inputs, job, _ := strings.Cut(string(text), "\n---\n")
	var spec struct {
		Spec struct{ Inputs map[string]any }
	}
	var flow struct {
		Dyno struct {
			Script    []string
			Variables map[string]string
			Artifacts struct{ Reports map[string]string }
		}
	}
	if err := errors.Join(yaml.Unmarshal([]byte(inputs), &spec), yaml.Unmarshal([]byte(job), &flow)); err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`\$\[\[ inputs\.(\w+) \]\]`).FindAllStringSubmatch(job, -1) {
		if spec.Spec.Inputs[m[1]] == nil {
			t.Errorf("no input is called %s", m[1])
		}
	}
	if len(flow.Dyno.Script) != 3 || flow.Dyno.Artifacts.Reports["junit"] != "junit.xml" {
		t.Fatalf("%+v", flow)
	}
	for name, c := range gated {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := revisions(t)
			script := strings.ReplaceAll(flow.Dyno.Script[2], "FETCH_HEAD", c.base)
			sh := exec.Command("bash", "-eo", "pipefail", "-c", script)
			sh.Dir, sh.Env = dir, append(append(os.Environ(), goEnviron(t)...), "TARGET="+c.target, "PROFILE=none", gatedArgs, gate)
			out, err := sh.CombinedOutput()
			var exit *exec.ExitError
			if status := sh.ProcessState.ExitCode(); err != nil && !errors.As(err, &exit) || status != c.status {
				t.Errorf("status %d, want %d: %v\n%s", status, c.status, err, out)
			}
			junit, err := os.ReadFile(filepath.Join(dir, "junit.xml"))
			if want := map[string]string{"regression": "<failure", "equal": "<testsuites "}[name]; err != nil || !strings.Contains(string(junit), want) {
				t.Errorf("%v, no %q in\n%s", err, want, junit)
			}
		})
	}
}

// The action and the component that track commits keep their lines at the remote. They write an issue about a change that is shown, and none
// before.
func TestTrackJobs(t *testing.T) {
	scripts := map[string]string{}
	var action struct {
		Runs struct {
			Steps []struct{ Name, Run string }
		}
	}
	var component struct {
		Job struct{ Script []string } `yaml:"$[[ inputs.job ]]"`
	}
	for file, into := range map[string]any{"action.yml": &action, "templates/track.yml": &component} {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		_, job, ok := strings.Cut(string(text), "\n---\n")
		if !ok {
			job = string(text)
		}
		if err := yaml.Unmarshal([]byte(job), into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	for _, step := range action.Runs.Steps[3:] {
		scripts["action"] += step.Run + "\n"
	}
	scripts["component"] = component.Job.Script[1]
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, temp, remote := revisions(t), t.TempDir(), t.TempDir()
			issue, config := filepath.Join(temp, "issue"), filepath.Join(temp, "gitconfig")
			push := "[url \"" + remote + "\"]\n\tinsteadOf = https://oauth2:secret@gitlab.example:8443/git/a/b.git\n"
			if err := os.WriteFile(config, []byte(push), 0o600); err != nil {
				t.Fatal(err)
			}
			stub := func(name, text string) {
				if err := os.WriteFile(filepath.Join(temp, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			stub("gh", `printf '%s\n' "$@" > `+issue)
			stub("curl", `printf '%s\n' "$@" > `+issue)
			run := func(command string) {
				t.Helper()
				sh := exec.Command("bash", "-eo", "pipefail", "-c", command)
				sh.Dir = dir
				sh.Env = append(append(os.Environ(), goEnviron(t)...), "PATH="+temp+":"+os.Getenv("PATH"), "RUNNER_TEMP="+temp, "GITHUB_STEP_SUMMARY="+filepath.Join(temp, "summary"),
					"TARGET=./cmd/server", "ARGS=--path /search -c 2 -d 100ms",
					"GITLAB_TOKEN=secret", "CI_SERVER_PROTOCOL=https", "CI_SERVER_URL=https://gitlab.example:8443/git", "CI_PROJECT_PATH=a/b", "GIT_CONFIG_GLOBAL="+config)
				if out, err := sh.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			run("git init -q --bare " + remote + " && git remote add origin " + remote)
			run(script)
			run("git ls-remote --exit-code origin refs/dyno/track && ! grep -r secret .git/config")
			if text, err := os.ReadFile(issue); err == nil {
				t.Errorf("the first commit has an issue: %s", text)
			}
			stub("dyno", `case $2 in add) printf '### p50 rose by 9%%\n\nIn work.go:18.\n';; esac`)
			run(script)
			if text, err := os.ReadFile(issue); err != nil || !regexp.MustCompile(`(?m)^(title=)?p50 rose by 9%$`).Match(text) {
				t.Errorf("%v, the issue is %s", err, text)
			}
		})
	}
}
