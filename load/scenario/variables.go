package scenario

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// Vars are one client's variables, for one goroutine at a time.
type Vars struct {
	n, client int
	captured  map[string]string
	rows      [][]string    // the loop's row of each table; see tables.take
	tables    *tables       // may be nil
	rng       *rand.Rand    // the client's own
	counter   *atomic.Int64 // of the whole load
}

// newVars returns the variables of a client that has captured nothing. Random values
// depend on seed and client alone.
func newVars(client int, seed uint64, ts *tables, counter *atomic.Int64) *Vars {
	return &Vars{
		client: client, captured: map[string]string{}, tables: ts, counter: counter,
		// The streams of schedules count up from 0; see Poisson.
		rng: rand.New(rand.NewPCG(seed, ^uint64(client))),
	}
}

type names struct {
	arg      map[string]string
	captured map[string]bool
	tables   *tables // may be nil
}

func newNames(arg map[string]string, ts *tables) *names {
	return &names{arg: arg, captured: map[string]bool{}, tables: ts}
}

func (k *names) capture(name string) error {
	if taken(name) || k.tables.has(name) {
		return fmt.Errorf("capture %s: the name is taken", name)
	}
	k.captured[name] = true
	return nil
}

func taken(name string) bool { return name == "n" || name == "client" || name == "arg" }

// parseVariable compiles a variable such as .id or .users.name; an arg is a literal.
func (k *names) parseVariable(word string) (part, error) {
	name := word[1:]
	owner, member, ok := strings.Cut(name, ".")
	switch {
	case name == "n":
		return part{kind: partN}, nil
	case name == "client":
		return part{kind: partClient}, nil
	case k.captured[name]:
		return part{kind: partCaptured, s: name}, nil
	case owner == "arg":
		if s, known := k.arg[member]; ok && known {
			return part{s: s}, nil
		}
	default:
		if table, column := k.tables.find(owner, member); column >= 0 {
			return part{kind: partField, s: name, table: table, column: column}, nil
		}
	}
	return part{}, &UnknownError{name}
}

func (k *names) list() string {
	all := append(slices.Collect(maps.Keys(k.captured)), "n", "client")
	for name := range k.arg {
		all = append(all, "arg."+name)
	}
	if k.tables != nil {
		for _, t := range k.tables.all {
			for _, c := range t.columns {
				all = append(all, t.name+"."+c)
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// An UnknownError names a variable that has no value.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string { return "unknown variable " + e.Name }

// NextLoop counts a loop of the client and takes its next rows of data.
func (v *Vars) NextLoop() {
	v.n++
	v.tables.take(v)
}

func (v *Vars) count() int64 { return v.counter.Add(1) - 1 }

func (v *Vars) random(least int, span uint64) int {
	if span == 0 {
		return int(v.rng.Uint64())
	}
	return int(uint64(least) + v.rng.Uint64N(span))
}

// appendUUID appends a UUID of version 4 (RFC 9562, section 5.4).
func (v *Vars) appendUUID(dst []byte) []byte {
	var b [16]byte
	for i, bits := 0, uint64(0); i < len(b); i++ {
		if i%8 == 0 {
			bits = v.rng.Uint64()
		}
		b[i] = byte(bits)
		bits >>= 8
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	const digits = "0123456789abcdef"
	for i, c := range b {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, digits[c>>4], digits[c&0xf])
	}
	return dst
}

// bounds reads random's arguments: the least number, and how many there are; 0 means
// all of them.
func bounds(lo, hi string) (least int, span uint64, err error) {
	least, ok1 := whole(lo)
	most, ok2 := whole(hi)
	if !ok1 || !ok2 {
		return 0, 0, fmt.Errorf("random %s %s: want two whole numbers", lo, hi)
	}
	if most < least {
		return 0, 0, fmt.Errorf("random %s %s: the least is above the most", lo, hi)
	}
	return least, uint64(most) - uint64(least) + 1, nil
}

func whole(s string) (int, bool) {
	if n, err := strconv.Atoi(s); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	return int(f), err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53
}
