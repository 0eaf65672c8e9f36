package scenario

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Vars are one client's variables, for one goroutine at a time.
type Vars struct {
	n, client int
	number    int // of the recorded request that is sent next
	captured  map[string]string
	rows      [][]string // the loop's row of each table; see tables.take
	tables    *tables    // may be nil
	rng       *rand.Rand // the client's own
	counter   *count     // of the whole load
}

// newVars returns the variables of a client that has captured nothing. Random values
// depend on seed and client alone.
func newVars(client int, seed uint64, ts *tables, counter *count) *Vars {
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
	if table, _ := k.tables.find(name, ""); taken(name) || table >= 0 {
		return fmt.Errorf("capture %s: the name is taken", name)
	}
	k.captured[name] = true
	return nil
}

func taken(name string) bool { return name == "n" || name == "client" || name == "arg" }

// parseVariable compiles a variable such as id or users.name; an arg is a literal.
func (k *names) parseVariable(name string) (p part, err error) {
	owner, member, _ := strings.Cut(name, ".")
	table, column := k.tables.find(owner, member)
	switch arg, isArg := k.arg[member]; {
	case name == "n":
		p.value = func(dst []byte, v *Vars) ([]byte, error) { return strconv.AppendInt(dst, int64(v.n), 10), nil }
	case name == "client":
		p.value = func(dst []byte, v *Vars) ([]byte, error) { return strconv.AppendInt(dst, int64(v.client), 10), nil }
	case k.captured[name]:
		p.value = func(dst []byte, v *Vars) ([]byte, error) {
			s, ok := v.captured[name]
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
