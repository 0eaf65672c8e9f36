//go:build !linux

package kernel

// Resident is not known here.
func Resident(int) (rss, file float64, err error) { return 0, 0, errNotLinux }

func ResidentExact(int) (rss, file float64, err error) { return 0, 0, errNotLinux }
