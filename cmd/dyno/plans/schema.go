package plans

import (
	"github.com/spf13/cobra"

	"github.com/dynolab/dyno/internal/plan"
)

// NewSchema is the command dyno schema.
func NewSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of dyno.yaml, for editors",
		Long: `Schema prints the JSON Schema of dyno.yaml. An editor with the YAML language server
completes and checks a plan whose first line names it:

    dyno schema > dyno.schema.json
    # yaml-language-server: $schema=dyno.schema.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := plan.Schema()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(append(text, '\n'))
			return err
		},
	}
}
