package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/report"
)

// printAnswer prints what a campaign found. failed is why it did not come to its end.
func printAnswer(cmd *cobra.Command, f *format, dir string, a campaign.Answer, failed error) error {
	w := cmd.OutOrStdout()
	if f.form() == "json" {
		return errors.Join(failed, report.JSON(w, a.Document()))
	}
	_, err := io.WriteString(w, a.Text(lookOf(w)))
	if failed != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "it did not come to its end: the results so far are in %s (consider: %s %s --resume %[1]s)\n", dir, self(), cmd.Name())
	}
	return errors.Join(failed, err)
}
