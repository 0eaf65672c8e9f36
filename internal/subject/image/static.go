package image

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// ErrNotStatic is the error of Static for an executable that does not run in an image without libraries. The
// cure depends on who built it.
var ErrNotStatic = errors.New("not a static linux executable")

var machines = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_RISCV: "riscv64", elf.EM_S390: "s390x"}

// Static returns the architecture of an executable, as GOARCH. Its error is [ErrNotStatic] if it is not
// for linux, or wants a loader and so libraries.
func Static(file string) (arch string, err error) {
	f, err := elf.Open(file)
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return "", err
	}
	if err != nil {
		return "", fmt.Errorf("%s is %w: it has no ELF header", file, ErrNotStatic)
	}
	defer f.Close()
	if f.OSABI != elf.ELFOSABI_NONE && f.OSABI != elf.ELFOSABI_LINUX {
		return "", fmt.Errorf("%s is %w: it is for another system (%v)", file, ErrNotStatic, f.OSABI)
	}
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return "", fmt.Errorf("%s is %w: it is of type %v", file, ErrNotStatic, f.Type)
	}
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return "", fmt.Errorf("%s is %w: it wants a loader and libraries", file, ErrNotStatic)
	}
	if arch = machines[f.Machine]; arch == "" {
		return "", fmt.Errorf("%s is for %v (want amd64, arm64, riscv64 or s390x)", file, f.Machine)
	}
	return arch, nil
}

// Certs is this machine's file of CA certificates, which Go programs look for; "" if it has none. See
// root_linux.go of crypto/x509.
func Certs() string {
	for _, file := range []string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
		"/etc/pki/tls/cacert.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
	} {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return ""
}
