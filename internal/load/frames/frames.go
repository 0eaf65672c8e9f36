// Package frames is what dyno and a load's program say to each other over a socket. A frame is its
// length in bytes (4, little endian), its kind (1) and its content. Both sides are on one machine.
//
//	dyno                          program
//	Hello ->                      <- Hello
//	Connect ->                    <- Connect
//	Phase, Due ..., Gate, Stop -> <- Name, Records, Gate, Phase
//	Close ->                      <- Close
//
// Beat comes from the program whenever it has nothing else to say, and Fault when it cannot go on.
package frames

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Version changes with every change of this package.
const Version = 1

// Socket is the variable that tells a program the unix socket at which dyno will speak to it.
const Socket = "DYNO_LOAD_SOCKET"

// Config is the variable that tells a program a file with its configuration, if dyno has one for it.
const Config = "DYNO_LOAD_CONFIG"

// A Kind says what a frame is.
type Kind byte

// The kinds of frames.
const (
	KindHello   Kind = iota + 1 // [Hello]
	KindConnect                 // [Connect] and [Reply]: the clients of a closed load, or the first of an open one
	KindPhase                   // [Phase] and [Over]
	KindDue                     // due times, 8 bytes each; none: there are no more
	KindGate                    // 1: requests of a closed load may begin; 0: they may not. The program answers 0 when none is under way
	KindStop                    // 0: nothing begins any more; 1: what is under way is cancelled, too
	KindName                    // [Name]
	KindRecords                 // [Record]s, Size bytes each
	KindClose                   // the clients, and [Reply]
	KindFault                   // a text: why the program cannot go on
	KindBeat                    // nothing
)

// Most is the largest number of bytes in the content of a frame.
const Most = 1 << 20

// Beat is the longest time that a program is silent.
const Beat = 100 * time.Millisecond

// A Hello begins a talk. Now is the time of the run's clock at Wall, in ns since 1970 (UTC): the clock
// of the machine is one, so the program's clock of the run is as good as dyno's.
type Hello struct {
	Version int
	Now     time.Duration
	Wall    int64

	// Fields that dyno fills in:
	Base    string        // the service's address, such as http://127.0.0.1:8080
	Timeout time.Duration // of one request
	First   int           // number of the first client
	Index   int           // of Of generators, this is number Index
	Of      int
	Seed    uint64
	Open    bool // the load is an open one

	// Fields that the program fills in:
	Procs int // its GOMAXPROCS
}

// A Connect asks for a number of clients.
type Connect struct{ Clients, Open int }

// A Reply says what went wrong; "" if nothing did.
type Reply struct{ Err string }

// A Phase is a warm-up or the window. An open load's due times follow.
type Phase struct {
	Open      bool
	Start     time.Duration // of an open load: when the phase begins
	Limit     time.Duration // of an open load: nothing is sent after this time of the clock
	Requests  int64         // of a closed load: in all; 0 is no limit
	PerClient int64         // of each client; 0 is no limit
}

// An Over ends a phase.
type Over struct {
	Valid bool
	Taken int64         // of an open load: requests that began
	CPU   time.Duration // that the program used in the phase; 0 if it is not known
}

// A Name gives a number of records a name.
type Name struct {
	Step    bool // of a step, else of a kind of failure
	Number  uint16
	Text    string
	Example string // of a failure: its first error
}

// A Record is what became of one step of a request. Times are of the run's clock.
type Record struct {
	Due, Free, Sent, Done time.Duration // Free is when its client would have been free for it, had the program never been late
	In, Out               int64         // bytes
	Messages              uint32
	Client                uint32
	Step                  uint16
	Kind                  uint16 // of its failure; 0: none; NoTime: timeout
	Flags                 Flags
}

// Flags of a record.
type Flags uint32

// The flags of a record.
const (
	Follows Flags = 1 << iota // it is a later step of its request: due when the one before ended
	Mark                      // it is a moment of a request, and no request of its own
)

// NoTime is the kind of failures that ran into the time limit. Others are named, as steps are, with
// numbers from FirstName on.
const (
	NoTime    = 1
	FirstName = 2
)

// OneStep is the step of a request that names none; Other is that of steps, and the kind of failures, of
// which there are too many names.
const (
	OneStep   = "request"
	Other     = "other"
	MostSteps = 100
	MostKinds = 1000
)

// Size is the number of bytes of a record.
const Size = 64

// Append adds a record to the content of a frame.
func (r *Record) Append(to []byte) []byte {
	le := binary.LittleEndian
	for _, v := range [...]uint64{uint64(r.Due), uint64(r.Free), uint64(r.Sent), uint64(r.Done), uint64(r.In), uint64(r.Out)} {
		to = le.AppendUint64(to, v)
	}
	to = le.AppendUint32(to, r.Messages)
	to = le.AppendUint32(to, r.Client)
	to = le.AppendUint16(to, r.Step)
	to = le.AppendUint16(to, r.Kind)
	return le.AppendUint32(to, uint32(r.Flags))
}

// Read reads the record at the beginning of p, which has Size bytes.
func (r *Record) Read(p []byte) {
	le := binary.LittleEndian
	p = p[:Size]
	r.Due, r.Free = time.Duration(le.Uint64(p)), time.Duration(le.Uint64(p[8:]))
	r.Sent, r.Done = time.Duration(le.Uint64(p[16:])), time.Duration(le.Uint64(p[24:]))
	r.In, r.Out = int64(le.Uint64(p[32:])), int64(le.Uint64(p[40:]))
	r.Messages, r.Client = le.Uint32(p[48:]), le.Uint32(p[52:])
	r.Step, r.Kind, r.Flags = le.Uint16(p[56:]), le.Uint16(p[58:]), Flags(le.Uint32(p[60:]))
}

// Head is the number of bytes before the content of a frame.
const Head = 5

// Begin begins a frame in to, whose content is to be appended; End completes it.
func Begin(to []byte, k Kind) []byte { return append(to[:0], 0, 0, 0, 0, byte(k)) }

// End completes a frame.
func End(frame []byte) []byte {
	binary.LittleEndian.PutUint32(frame, uint32(len(frame)-Head))
	return frame
}

// Bytes is a frame of a content.
func Bytes(k Kind, content ...byte) []byte { return End(append(Begin(nil, k), content...)) }

// JSON is a frame of a value.
func JSON(k Kind, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil { // none of the types above
		panic(err)
	}
	return Bytes(k, text...)
}

// ErrFrame: the bytes that were read are no frame.
var ErrFrame = errors.New("what it says is no frame of dyno's")

// Read reads a frame, into buf if it has room.
func Read(r io.Reader, buf []byte) (k Kind, content []byte, err error) {
	var h [Head]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return 0, buf, err
	}
	n := binary.LittleEndian.Uint32(h[:])
	if n > Most {
		return 0, buf, fmt.Errorf("%w: %d bytes", ErrFrame, n)
	}
	if int(n) > cap(buf) {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if _, err := io.ReadFull(r, buf); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, buf, err
	}
	return Kind(h[Head-1]), buf, nil
}
