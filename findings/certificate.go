package findings

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/certify"
	"github.com/dynolab/dyno/store"
)

// CertificateFile is the copy of the certificate that there was of a service as its run began.
const CertificateFile = "certificate.json"

// mostCertificate is more than any campaign writes, in bytes.
const mostCertificate = 16 << 20

// ReadCertificate reads the file of a certificate. The error of a file that is not there is
// os.ErrNotExist; a file of a later schema is left out with one, too.
func ReadCertificate(path string) (*certify.Certificate, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := new(certify.Certificate)
	if err := json.NewDecoder(io.LimitReader(f, mostCertificate)).Decode(c); err != nil {
		return nil, &os.PathError{Op: "read certificate", Path: path, Err: err}
	}
	if c.Schema != certify.Schema {
		return nil, &os.PathError{Op: "read certificate", Path: path, Err: os.ErrInvalid}
	}
	return c, nil
}

// Identities are what a certificate of a run would be of: one for each executable that was measured,
// or one without any.
func Identities(e *dyno.Experiment, host store.Host, results []*dyno.Result) (all []certify.Identity) {
	ran := subjects(results)
	if len(ran) == 0 {
		ran = []string{""}
	}
	for _, s := range ran {
		all = append(all, certify.Identity{
			Kernel: host.Kernel, CPU: host.CPU, CPUs: host.CPUs,
			Subject: s, Load: e.Trial(e.Levels()[0]).Load.String(),
		})
	}
	return all
}

// certificate reads the copy in the run directory, if there is a whole one.
func (f *Findings) certificate() {
	c, err := ReadCertificate(filepath.Join(f.Dir.Path, CertificateFile))
	if err != nil {
		return
	}
	f.Certificate, f.Expired = c, c.Expired(Identities(f.Plan, f.Dir.Run.Host, f.Results)...)
}
