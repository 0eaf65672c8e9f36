package kernel

import (
	"fmt"
	"os"

	"github.com/prometheus/procfs"
)

// A tree is processes that are measured as one: the children of a server that forks, and itself. None of them may
// end meanwhile.
type tree []procfs.Proc

func newTree(pids ...int) (t tree, err error) {
	for _, pid := range pids {
		p, err := procfs.NewProc(pid)
		if err != nil {
			return nil, err
		}
		t = append(t, p)
	}
	return t, nil
}

// stat adds up what processes have; its Starttime too, so that another process under a number shows. Of resident
// pages that may be shared, those of files, the largest number counts once: they are of one program.
func (t tree) stat() (sum procfs.ProcStat, err error) {
	for i, p := range t {
		st, err := p.Stat()
		if err == nil && ended(st) {
			err = ErrGone
		}
		if err != nil || len(t) == 1 {
			return st, err
		}
		if i == 0 {
			sum = st
			continue
		}
		sum.Starttime += st.Starttime
		sum.UTime, sum.STime = sum.UTime+st.UTime, sum.STime+st.STime
		sum.MinFlt, sum.MajFlt = sum.MinFlt+st.MinFlt, sum.MajFlt+st.MajFlt
		sum.VSize, sum.NumThreads = sum.VSize+st.VSize, sum.NumThreads+st.NumThreads
	}
	pages, err := t.pages()
	sum.RSS = pages
	return sum, err
}

// pages is how many pages are resident.
func (t tree) pages() (pages int, err error) {
	shared := 0
	for _, p := range t {
		m, err := p.Statm()
		if err == nil && m.Resident == 0 {
			err = ErrGone
		}
		if err != nil {
			return 0, err
		}
		pages += int(m.Resident - m.Shared)
		shared = max(shared, int(m.Shared))
	}
	return pages + shared, nil
}

// files is the resident memory that is pages of files, in bytes: RssFile of /proc/PID/status. Of several
// processes it is the most that one has, as these pages are shared.
func (t tree) files() (most float64, err error) {
	for _, p := range t {
		st, err := p.NewStatus()
		if err != nil {
			return 0, err
		}
		most = max(most, float64(st.RssFile))
	}
	return most, nil
}

func (t tree) cpu() (sum float64, err error) {
	for _, p := range t {
		cpu, err := CPU(p.PID)
		if err != nil {
			return 0, err
		}
		sum += cpu
	}
	return sum, nil
}

// waited is as that of a process.
func (t tree) waited() (sum float64) {
	for _, p := range t {
		w := waited(p.PID)
		if w < 0 {
			return w
		}
		sum += w
	}
	return sum
}

func (t tree) descriptors() (sum int, err error) {
	for _, p := range t {
		n, err := p.FileDescriptorsLen()
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// Together is the resident memory of processes that are one subject, in bytes. Pages of files count once, as they
// are of one program.
func Together(pids ...int) (float64, error) {
	t, err := newTree(pids...)
	var pages int
	if err == nil {
		pages, err = t.pages()
	}
	if err != nil {
		return 0, fmt.Errorf("read memory of processes %v: %w", pids, gone(err))
	}
	return float64(pages * os.Getpagesize()), nil
}
