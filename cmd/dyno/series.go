package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno/plan/flags"
	"github.com/dynolab/dyno/report/export"
)

func reportSeries(cmd *cobra.Command, path, form string) error {
	if form != "csv" {
		return flags.Mistakef("unknown form %q of series (want csv)", form)
	}
	if err := alone(cmd, "--series prints readings, --%s is of something else", "format", "json", "threshold"); err != nil {
		return err
	}
	dir, err := readNoted(cmd, path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)
	io.WriteString(w, "trial,setting,metric,sec,value\n") // its error comes with Flush
	rows := 0
	for _, r := range dir.Results() {
		all, err := dir.Series(r.Trial.N)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if r.Err != "" && len(all) > 0 {
			notef(cmd, "trial %d failed, its readings are among these: %s", r.Trial.N, r.Err)
		}
		lead := strconv.Itoa(r.Trial.N) + "," + csvField(export.Harmless(r.Trial.Setting.String())) + ","
		var line []byte
		for _, s := range all {
			metric := csvField(export.Harmless(s.Metric))
			for i, at := range s.At {
				line = append(append(append(line[:0], lead...), metric...), ',')
				line = append(strconv.AppendFloat(line, at.Seconds(), 'f', -1, 64), ',')
				line = append(strconv.AppendFloat(line, s.Value[i], 'g', -1, 64), '\n')
				if _, err := w.Write(line); err != nil {
					return err
				}
				rows++
			}
		}
	}
	if rows == 0 {
		return fmt.Errorf("report %s: nothing was sampled", path)
	}
	if rows >= excelRows {
		notef(cmd, "these are %d readings, of which Excel opens %d", rows, excelRows-1)
	}
	return w.Flush()
}
