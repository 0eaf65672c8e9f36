package help

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// manual is dyno man, which packages call when they are built.
func manual() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages into a directory",
		Long: `Man writes the manual pages of all commands and topics into a directory, which it makes:

    dyno man ~/.local/share/man/man1
    man dyno-run

The date of the pages is SOURCE_DATE_EPOCH, if this variable is set.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return err
			}
			return pages(cmd.Root(), args[0])
		},
	}
}

// pages writes the page of a command and those of the commands below it.
func pages(cmd *cobra.Command, dir string) error {
	cmd.DisableAutoGenTag = true
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.NoOptDefVal == "" { // the page shows --flag=DEFAULT; what a default is, the text says
			f.DefValue, _ = pflag.UnquoteUsage(f)
		}
	})
	file, err := os.Create(filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"))
	if err != nil {
		return err
	}
	header := &doc.GenManHeader{Section: "1", Source: "dyno", Manual: "dyno manual"}
	if err := doc.GenMan(cmd, header, file); err != nil {
		file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	for _, below := range cmd.Commands() {
		if below.Hidden || below.Name() == "help" || cmd.Name() == "completion" { // which has one page for all shells
			continue
		}
		if err := pages(below, dir); err != nil {
			return err
		}
	}
	return nil
}
