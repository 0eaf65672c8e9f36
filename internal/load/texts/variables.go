package texts

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// A Count is of all generators of a load: each has every of-th number from its index on. The zero value is
// that of one generator.
type Count struct {
	taken     atomic.Int64
	index, of int64
}

// Next takes a number.
func (c *Count) Next() int64 { return (c.taken.Add(1)-1)*max(c.of, 1) + c.index }

// Share makes the count that of one of several generators.
func (c *Count) Share(index, of int) { c.index, c.of = int64(index), int64(of) }

// Vars are one client's variables, for one goroutine at a time.
type Vars struct {
	n, client int
	Number    int               // of the recorded request that is sent next
	Captured  map[string]string // values by name
	rows      [][]string        // the loop's row of each table; see tables.take
	tables    *Tables           // may be nil
	rng       *rand.Rand        // the client's own
	counter   *Count            // of the whole load
}

// NewVars returns the variables of a client that has captured nothing. Random values
// depend on seed and client alone.
func NewVars(client int, seed uint64, ts *Tables, counter *Count) *Vars {
	return &Vars{
		client: client, Captured: map[string]string{}, tables: ts, counter: counter,
		// The streams of schedules count up from 0; see Poisson.
		rng: rand.New(rand.NewPCG(seed, ^uint64(client))),
	}
}

// Names are what a text may use.
type Names struct {
	arg      map[string]string
	captured map[string]bool
	tables   *Tables // may be nil
}

// NewNames returns the names of arg and of the tables, which may be nil, and those that each client has.
func NewNames(arg map[string]string, ts *Tables) *Names {
	return &Names{arg: arg, captured: map[string]bool{}, tables: ts}
}

// Capture makes a name known that a client captures.
func (k *Names) Capture(name string) error {
	if table, _ := k.tables.find(name, ""); taken(name) || table >= 0 {
		return fmt.Errorf("capture %s: the name is taken", name)
	}
	k.captured[name] = true
	return nil
}

func taken(name string) bool { return name == "n" || name == "client" || name == "arg" }

// parseVariable compiles a variable such as id or users.name; an arg is a literal.
func (k *Names) parseVariable(name string) (p part, err error) {
	owner, member, _ := strings.Cut(name, ".")
	table, column := k.tables.find(owner, member)
	switch arg, isArg := k.arg[member]; {
	case name == "n":
		p.value = func(dst []byte, v *Vars) ([]byte, error) { return strconv.AppendInt(dst, int64(v.n), 10), nil }
	case name == "client":
		p.value = func(dst []byte, v *Vars) ([]byte, error) { return strconv.AppendInt(dst, int64(v.client), 10), nil }
	case k.captured[name]:
		p.value = func(dst []byte, v *Vars) ([]byte, error) {
			s, ok := v.Captured[name]
			if !ok {
				return dst, &UnknownError{name}
			}
			return append(dst, s...), nil
		}
	case owner == "arg" && isArg:
		p.literal = arg
	case column >= 0:
		p.value = func(dst []byte, v *Vars) ([]byte, error) { return append(dst, v.rows[table][column]...), nil }
	default:
		err = &UnknownError{name}
	}
	return p, err
}

func (k *Names) list() string {
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
	v.tables.Take(v)
}

// Random draws a whole number below n.
func (v *Vars) Random(n int64) int64 { return v.rng.Int64N(n) }

// appendUUID appends a UUID of version 4 (RFC 9562, section 5.4).
func (v *Vars) appendUUID(dst []byte) []byte {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], v.rng.Uint64())
	binary.LittleEndian.PutUint64(b[8:], v.rng.Uint64())
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	dst = hex.AppendEncode(dst, b[:4])
	for _, group := range [][]byte{b[4:6], b[6:8], b[8:10], b[10:]} {
		dst = hex.AppendEncode(append(dst, '-'), group)
	}
	return dst
}
