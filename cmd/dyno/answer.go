package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/store"
)

// printAnswer prints what a campaign found. failed is why it did not come to its end.
func printAnswer(cmd *cobra.Command, f *format, dir string, a campaign.Answer, failed error) error {
	w := cmd.OutOrStdout()
	if f.form() == "json" {
		return errors.Join(failed, report.JSON(w, a.Document()))
	}
	_, err := io.WriteString(w, a.Text(lookOf(w)))
	if failed != nil && !errors.Is(failed, campaign.ErrChanged) { // or it would fail again
		fmt.Fprintf(cmd.ErrOrStderr(), "it did not come to its end: the results so far are in %s (consider: %s %s --resume %[1]s)\n", dir, self(), cmd.Name())
	}
	return errors.Join(failed, err)
}

// printKept prints the answer of a campaign that is done.
func printKept(cmd *cobra.Command, f *format, r *store.Record) error {
	notef(cmd, "%s is done, so nothing is measured; all of its answer is in %s", r.Dir(), filepath.Join(r.Dir(), store.AnswerFile))
	w := cmd.OutOrStdout()
	if f.form() != "json" {
		_, err := fmt.Fprintln(w, r.Answer)
		return err
	}
	text, err := os.ReadFile(filepath.Join(r.Dir(), r.Question+".json"))
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}
