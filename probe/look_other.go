//go:build !linux

package probe

// resident is not known here.
func resident(int) (rss, file float64, err error) { return 0, 0, errNotLinux }

func residentExact(int) (rss, file float64, err error) { return 0, 0, errNotLinux }
