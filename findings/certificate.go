package findings

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/certify"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/safe"
	"github.com/dynolab/dyno/internal/store"
)

// CertificateFile is the run directory's copy of the service's certificate, made when the run began.
const CertificateFile = "certificate.json"

// CertificatePath returns the path of a service's certificate. It is below the user's configuration: one file
// for each package, module or executable.
func CertificatePath(s *dyno.Subject) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	key, _, _ := strings.Cut(s.Module, "@")
	if path := cmp.Or(s.Package, s.Binary); path != "" {
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.Dir, path)
		}
		if key, err = filepath.Abs(path); err != nil {
			return "", err
		}
		if real, err := filepath.EvalSymlinks(key); err == nil {
			key = real
		}
	}
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(dir, "dyno", "certificates", filepath.Base(key)+"-"+hex.EncodeToString(sum[:4])+".json"), nil
}

// ReadCertificate reads a certificate from its file. The error is os.ErrNotExist if the file does not exist,
// and os.ErrInvalid if it has another schema.
func ReadCertificate(path string) (*certify.Certificate, error) {
	f, err := safe.Of(CertificateFile).Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := new(certify.Certificate)
	if err := json.NewDecoder(f).Decode(c); err != nil {
		return nil, &os.PathError{Op: "read certificate", Path: path, Err: err}
	}
	if c.Schema != certify.Schema {
		return nil, &os.PathError{Op: "read certificate", Path: path, Err: os.ErrInvalid}
	}
	c.Kind = certify.AnswerKind // which files of older dynos lack
	return c, nil
}

// WriteCertificate replaces the file of a certificate as a whole. It makes missing folders.
func WriteCertificate(path string, c *certify.Certificate) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = store.Replace(path, func(w io.Writer) error { return answer.Write(w, c) })
	}
	if err != nil {
		return fmt.Errorf("write certificate: %w", err)
	}
	return nil
}

// Identities returns what identifies a run for its certificate: one identity for each executable that was
// measured, or one without an executable if there are no results.
func Identities(e *dyno.Experiment, host store.Host, results []*dyno.Result) (all []certify.Identity) {
	whole := store.Redacted(e).Resolved() // a run directory has no other
	l := whole.Load
	// How long a trial is, and what is kept of it, changes how well things are known, but not what is measured.
	// Nor does how long it is warmed up, which a look may have chosen.
	l.Requests, l.RequestsPerClient, l.Duration, l.Idle, l.KeepRequests, l.MaxRequestsKept, l.Warmup = 0, 0, 0, 0, "", 0, 0
	of := certify.Identity{
		Kernel: host.Kernel, CPU: host.CPU, CPUs: host.CPUs,
		Start: sumOf(dyno.Subject{Args: whole.Subject.Args, Env: whole.Subject.Env, Files: whole.Subject.Files, Addr: whole.Subject.Addr, Arg: whole.Subject.Arg}, whole.Limits), Load: sumOf(l),
		Alone: !slices.ContainsFunc(results, func(r *dyno.Result) bool { return r.Turns > 0 }),
	}
	for _, r := range results {
		of.Subject, of.Build = r.Subject, r.Sum
		if r.Trial.For == "" && !slices.Contains(all, of) {
			all = append(all, of)
		}
	}
	if len(all) == 0 {
		all = append(all, of)
	}
	return all
}

// sumOf is short, and equal for what has equal JSON.
func sumOf(xs ...any) string {
	text, err := json.Marshal(xs)
	if err != nil { // of a plan that could be read it never is
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// certificate reads the copy in the run directory, if there is a whole one.
func (f *Findings) certificate() {
	c, err := ReadCertificate(filepath.Join(f.Dir.Path, CertificateFile))
	if err != nil {
		return
	}
	f.Certificate, f.Expired = c, c.Expired(Identities(f.Plan, f.Dir.Run.Host, f.Results)...)
}
