package report

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"
)

// A frame may have its first size only after the scripts of its page have run, and that
// is no event to pprof's page, which would then stay empty.
const flameScript = `new ResizeObserver(() => dispatchEvent(new Event("resize"))).observe(document.documentElement);`

// packFlame makes an element of a page of pprof's, which has to need no server.
func packFlame(id string, page []byte) template.HTML {
	text := asParsed(string(page))
	added := "<script>" + flameScript + "</script>"
	if i := strings.Index(strings.ToLower(text), "<head>"); i >= 0 {
		i += len("<head>")
		text = text[:i] + added + text[i:]
	} else {
		text = added + text
	}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	z.Write([]byte(text))
	z.Close()
	return template.HTML(`<script type="application/octet-stream+base64" id="` + id + `">` +
		base64.StdEncoding.EncodeToString(b.Bytes()) + "</script>\n")
}

// asParsed is a text as browsers have it when they compute its hash.
func asParsed(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "�").Replace(strings.ToValidUTF8(text, "�"))
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
		name := tame(f.Kind, mostName) + " of " + label(f.Setting)
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
	return fmt.Sprintf("the flame graphs of %s, as the file would be larger than 2 MB (consider: dyno view %s)", list(names), tame(dir, mostCell))
}
