package html

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"

	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
)

func packFlame(id string, page []byte) template.HTML {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	z.Write(page)
	z.Close()
	return template.HTML(`<script type="application/octet-stream+base64" id="` + id + `">` +
		base64.StdEncoding.EncodeToString(b.Bytes()) + "</script>\n")
}

// hash is the source expression of a content policy that allows one text.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// withoutFlames says which were left out, so that the file stays small.
func withoutFlames(left []Flame, dir string) string {
	var names []string
	for _, f := range left {
		name := tame(f.Kind, mostName) + " of " + layout.Label(f.Setting)
		if f.Base != "" {
			name += " against " + f.Base
		}
		names = append(names, tame(name, mostCell))
	}
	if len(names) > 10 {
		names = append(names[:9], fmt.Sprintf("%d more", len(left)-9))
	}
	if dir == "" {
		dir = "DIR"
	}
	return fmt.Sprintf("the flame graphs of %s, as the file would be larger than 2 MB (consider: dyno view %s)", words.List(names), tame(dir, mostCell))
}
