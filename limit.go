package dyno

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Limits bound the subject's control group. The zero value limits nothing.
type Limits struct {
	CPU    CPUs `json:"cpu,omitempty"`    // 0 means no limit
	Memory Size `json:"memory,omitempty"` // 0 means no limit
}

// NoLimit is the level of a factor limit.cpu or limit.memory that limits nothing.
const NoLimit = "none"

func (l Limits) String() string {
	var parts []string
	if l.CPU > 0 {
		parts = append(parts, "cpu="+l.CPU.String())
	}
	if l.Memory > 0 {
		parts = append(parts, "memory="+l.Memory.String())
	}
	return strings.Join(parts, ",")
}

// CPUs is a limit of CPU time as a number of CPUs, such as 0.5.
type CPUs float64

// leastCPUs is 1 ms in 100 ms (kernel/sched/core.c, min_cfs_quota_period).
const leastCPUs = 0.01

// ParseCPUs reads "0.5", "2" or "10%" of one CPU; "none" is 0.
func ParseCPUs(s string) (CPUs, error) {
	if s == NoLimit {
		return 0, nil
	}
	v, err := share(s, parseFloat)
	if err != nil || !(v >= leastCPUs && v <= 1e4) {
		return 0, fmt.Errorf("bad number of CPUs %q (want for example 0.5, 10%%, or none; at least %v)", s, leastCPUs)
	}
	return CPUs(v), nil
}

func (c CPUs) String() string { return strconv.FormatFloat(float64(c), 'g', 6, 64) }

// MarshalText implements encoding.TextMarshaler.
func (c CPUs) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// A Size is a number of bytes that is written as GOMEMLIMIT is: "64MiB".
type Size int64

// sizeUnits are the units of GOMEMLIMIT (parseByteCount in runtime/string.go).
var sizeUnits = []string{"B", "KiB", "MiB", "GiB", "TiB"}

// ParseSize reads what GOMEMLIMIT takes: "67108864", "64MiB"; "none" is 0.
func ParseSize(s string) (Size, error) {
	if s == NoLimit {
		return 0, nil
	}
	number, unit := cutSize(strings.TrimSpace(s))
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("bad size %q (want for example 64MiB, or none)", s)
	}
	return Size(n * unit), nil
}

// cutSize splits a size into its number and the bytes of its unit.
func cutSize(s string) (number string, unit int64) {
	for i := len(sizeUnits) - 1; i >= 0; i-- {
		if n, ok := strings.CutSuffix(s, sizeUnits[i]); ok {
			return n, int64(1) << (10 * i)
		}
	}
	return s, 1
}

func (s Size) String() string {
	n, i := int64(s), 0
	for i < len(sizeUnits)-1 && n != 0 && n%1024 == 0 {
		n /= 1024
		i++
	}
	return strconv.FormatInt(n, 10) + sizeUnits[i]
}

// MarshalText implements encoding.TextMarshaler.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
