package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The files that a service maps are told from its program, its libraries, shared memory and
// pages that it wrote to.
func TestMappedFiles(t *testing.T) {
	const smaps = `00400000-00600000 r-xp 00000000 fe:00 11                         /srv/bin/server
Size:               2048 kB
Rss:                1000 kB
Anonymous:             0 kB
c000000000-c000400000 rw-p 00000000 00:00 0                              [anon: Go: heap]
Rss:                4000 kB
Anonymous:          4000 kB
7f0000000000-7f000c800000 r--s 00000000 fe:00 12                         /srv/data/a b.db
Rss:              204800 kB
Anonymous:             0 kB
VmFlags: rd sh mr mw me ms
7f0010000000-7f0010100000 rw-p 00000000 fe:00 13                         /srv/data/index (deleted)
Rss:                 300 kB
Anonymous:           100 kB
7f0020000000-7f0020100000 r-xp 00000000 fe:00 14                         /lib/x86_64-linux-gnu/libc.so.6
Rss:                 500 kB
7f0030000000-7f0030100000 rw-s 00000000 00:01 15                         /memfd:x (deleted)
Rss:                 600 kB
`
	got, largest, err := mappedFiles(strings.NewReader(smaps), "/srv/bin/server")
	if want := (204800 + 200) * 1024.0; err != nil || got != want || largest != "/srv/data/a b.db" {
		t.Errorf("%v of %q, error %v; want %v", got, largest, err, want)
	}
	if _, _, err := mappedFiles(strings.NewReader("1-2 r--s 0 fe:00 1 /x\nRss: many kB\n"), ""); err == nil {
		t.Error("no error for a size that is no number")
	}
}

func TestMappedFilesOfThisProcess(t *testing.T) {
	const size = 4 << 20
	path := filepath.Join(t.TempDir(), "data.db")
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mem, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	bytes, largest, err := MappedFiles(os.Getpid())
	if err != nil || bytes != size || largest != path {
		t.Errorf("%v of %q, error %v; want %v of %q", bytes, largest, err, size, path)
	}
}
