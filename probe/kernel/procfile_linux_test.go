package kernel

import (
	"os"
	"testing"

	"github.com/prometheus/procfs"
)

// What is read of us is what package procfs reads, whatever we are called.
func TestParseStat(t *testing.T) {
	line := []byte("7 (a) b (c)) S 1 7 7 0 -1 4194560 11 0 13 0 20 5 0 0 20 0 9 0 1234 1073741824 2560 18446744073709551615 1 1\n")
	st, err := parseStat(line)
	if want := (procStat{'S', 11, 13, 20, 5, 9, 1 << 30, 2560}); err != nil || st != want {
		t.Errorf("%+v, %v, want %+v", st, err, want)
	}
	if st.cpu() != 0.25 {
		t.Errorf("%v s of CPU", st.cpu())
	}
	for _, bad := range []string{"", "7 (a)", "7 (a) S 1 2", "7 (a) S 1 7 7 0 -1 1 x 0 13 0 20 5 0 0 20 0 9 0 1 1 1 1"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	f, err := openProc(os.Getpid(), "stat")
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if st, err = f.stat(); err != nil {
		t.Fatal(err)
	}
	self, err := procfs.Self()
	if err != nil {
		t.Fatal(err)
	}
	if other, err := self.Stat(); err != nil || st.vsz < uint64(other.VSize)/2 || st.resident() < float64(other.ResidentMemory())/2 {
		t.Errorf("%+v, package procfs %+v, %v", st, other, err)
	}
}

func BenchmarkStat(b *testing.B) {
	f, err := openProc(os.Getpid(), "stat")
	if err != nil {
		b.Fatal(err)
	}
	defer f.close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.stat(); err != nil {
			b.Fatal(err)
		}
	}
}
