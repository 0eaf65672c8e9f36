package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dynolab/dyno/internal/plan"
)

// Every command of a document has flags that there are, and every plan is one. What they do is
// tested elsewhere; this is about what nobody would notice when a flag is renamed.
func TestCommandsOfDocuments(t *testing.T) {
	for _, file := range []string{"README.md", "CONTRIBUTING.md", "doc/recipes.md", "doc/programs.md", "doc/ci.md", "doc/cluster.md", "doc/format.md", "doc/limits.md", "doc/method/README.md", "doc/method/measuring.md", "doc/method/turns.md", "doc/method/verdicts.md", "doc/method/leaks.md", "doc/method/profiles.md", "doc/method/benchmarks.md", "doc/method/tuning.md", "doc/method/predictions.md", "doc/method/receipts.md", "doc/studies.md"} {
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		var commands [][]string
		for _, in := range inLine.FindAllStringSubmatch(string(text), -1) {
			for _, argv := range dynoCommands(strings.ReplaceAll(in[1], "\n", " ")) {
				if err := parses(argv); err != nil && strings.Contains(err.Error(), "unknown") { // it may be a part of a command
					t.Errorf("%s: %q: %v", file, argv, err)
				}
			}
		}
		for _, b := range blocks(string(text)) {
			commands = append(commands, dynoCommands(b.text)...)
			if b.kind == "yaml" && !strings.Contains(b.text, "uses:") && !strings.Contains(b.text, "script:") {
				if _, err := plan.Parse(file, []byte(b.text)); err != nil {
					t.Errorf("%s: %v\n%s", file, err, b.text)
				}
			}
		}
		if len(commands) == 0 && (file == "README.md" || file == "doc/recipes.md") {
			t.Errorf("%s has no command", file)
		}
		for _, argv := range commands {
			if err := parses(argv); err != nil {
				t.Errorf("%s: %q: %v", file, argv, err)
			}
		}
	}
}

type block struct{ kind, text string }

// blocks are the fenced parts of a text.
func blocks(text string) (out []block) {
	for i, part := range strings.Split("\n"+text, "\n```") {
		if i%2 == 1 {
			kind, rest, _ := strings.Cut(part, "\n")
			out = append(out, block{kind, rest + "\n"})
		}
	}
	return out
}

// inLine is a command in a sentence, or its beginning.
var inLine = regexp.MustCompile("[^`]`(dyno [^`]*)`")

var ends = regexp.MustCompile(`\s#\s.*$`)

// dynoCommands are the arguments of each call of dyno in the lines of a shell, without redirections.
func dynoCommands(text string) (out [][]string) {
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		for command := range strings.SplitSeq(strings.ReplaceAll(ends.ReplaceAllString(strings.TrimSpace(line), ""), "&&", ";"), ";") {
			argv := shellWords(strings.TrimPrefix(strings.TrimSpace(command), "$ "))
			if len(argv) > 2 && argv[0] == "go" && argv[1] == "run" && strings.HasSuffix(argv[2], "cmd/dyno") {
				argv = append([]string{"dyno"}, argv[3:]...)
			}
			if len(argv) > 1 && argv[0] == "dyno" && !strings.HasSuffix(argv[1], ":") {
				out = append(out, argv[1:])
			}
		}
	}
	return out
}

// shellWords splits a command as a shell does, up to a redirection or a pipe.
func shellWords(command string) (out []string) {
	word, in, quote := "", false, rune(0)
	for _, r := range command + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '\'' || r == '"':
			quote, in = r, true
		case r == '>' || r == '|':
			return out
		case r == ' ':
			if in {
				out = append(out, word)
			}
			word, in = "", false
		default:
			word, in = word+string(r), true
		}
	}
	return out
}

func parses(argv []string) error {
	root := newRoot()
	root.InitDefaultHelpCmd()
	cmd, rest, err := root.Find(argv)
	if err != nil {
		return err
	}
	if cmd == root && argv[0] != "COMMAND" {
		return fmt.Errorf("unknown command %s", argv[0])
	}
	if err := cmd.ParseFlags(rest); err != nil && err != pflag.ErrHelp {
		return err
	}
	return ofArgs(cmd)
}

// ofArgs checks the number of arguments, of a command that takes what follows -- for another.
func ofArgs(cmd *cobra.Command) error {
	args := cmd.Flags().Args()
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		args = args[:n]
	}
	if cmd.Args == nil {
		return nil
	}
	return cmd.Args(cmd, args)
}
