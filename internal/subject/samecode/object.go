package samecode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// What an archive of a compiled package consists of is in cmd/internal/archive; its object files are in the format of
// cmd/internal/goobj/objfile.go, which has not changed since Go 1.20.
const (
	archiveMagic = "!<arch>\n"
	objectMagic  = "\x00go120ld"
	memberHeader = 60
	sizeAt       = 48 // of a member's size, of ten digits
)

// Blocks of an object file.
const (
	blockPackages = 1 + iota
	blockFiles
	blockDefs
	blockHashed64
	blockHashed
	blockNamed // definitions that have no package, such as those of types
	blockNamedRefs
	blockRefFlags
	blockHashes64
	blockHashes
	blockRelocIndex
	blockAuxIndex
	blockDataIndex
	blockRelocs
	blockAux
	blockData
	blockRefNames
	blockEnd
	blocks
)

// Numbers that stand for a package in a reference; those from 1 on are indexes of the object's packages.
const (
	inNone     = 1<<31 - 1 - iota // by name
	inHashed64                    // what has its content for a name
	inHashed
	inBuiltin
	inSelf
)

const (
	symbolSize = 21
	relocSize  = 23
	auxSize    = 9
)

// Kinds of what belongs to a symbol. The others are debugging data and positions in the source, which change nothing that a program does.
const (
	auxType     = 0
	auxFuncData = 2  // what the collector finds on the stack
	auxPCData   = 11 // and where
)

var errFormat = errors.New("the compiler's object files have a format that dyno does not know")

// An object is one file of a compiled package.
type object struct {
	data    []byte
	offsets [blocks]uint32
	defs    [4]int // ends of the definitions: of the package, of the two hashed kinds, and named ones
	p       *pkg
}

// A pkg is a compiled package.
type pkg struct {
	objects []*object
	other   [][]byte // members that no Go compiler or assembler made
	named   map[string]symbol
}

// A symbol is a definition in an object.
type symbol struct {
	o *object
	i int
}

// readArchive reads the compiled package in a file.
func readArchive(file string) (p *pkg, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	defer func() { // indexes of a format that is like the known one
		if recover() != nil {
			p, err = nil, fmt.Errorf("read %s: %w", file, errFormat)
		}
	}()
	rest, ok := bytes.CutPrefix(data, []byte(archiveMagic))
	if !ok {
		return nil, fmt.Errorf("read %s: %w", file, errFormat)
	}
	p = &pkg{named: map[string]symbol{}}
	for len(rest) >= memberHeader {
		name := strings.TrimSpace(string(rest[:16]))
		size, err := strconv.Atoi(strings.TrimSpace(string(rest[sizeAt : sizeAt+10])))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, errFormat)
		}
		member := rest[memberHeader : memberHeader+size]
		rest = rest[min(len(rest), memberHeader+size+size%2):]
		_, object, isGo := bytes.Cut(member, []byte("\n!\n"))
		switch {
		case name == "__.PKGDEF": // what importers need
		case isGo && bytes.HasPrefix(member, []byte("go object ")) && bytes.HasPrefix(object, []byte(objectMagic)):
			p.add(object)
		case isGo && bytes.HasPrefix(member, []byte("go object ")):
			return nil, fmt.Errorf("read %s: %w", file, errFormat)
		default:
			p.other = append(p.other, member)
		}
	}
	return p, nil
}

func (p *pkg) add(data []byte) {
	o := &object{data: data, p: p}
	at := len(objectMagic) + 8 + 4 // after the fingerprint and the flags
	for i := range o.offsets {
		o.offsets[i] = o.uint32(uint32(at + 4*i))
	}
	n := 0
	for i := range o.defs {
		n += o.len(blockDefs+i, symbolSize)
		o.defs[i] = n
	}
	p.objects = append(p.objects, o)
	for i := range n {
		if s := (symbol{o, i}); !s.hashed() {
			p.named[s.name()] = s
		}
	}
}

func (o *object) uint32(at uint32) uint32 { return binary.LittleEndian.Uint32(o.data[at:]) }

func (o *object) len(block, size int) int { return int(o.offsets[block+1]-o.offsets[block]) / size }

func (o *object) text(at uint32) string {
	n, from := o.uint32(at), o.uint32(at+4)
	return string(o.data[from : from+n])
}

func (s symbol) head() []byte {
	at := s.o.offsets[blockDefs] + uint32(s.i*symbolSize) // the four blocks of definitions follow each other
	return s.o.data[at : at+symbolSize]
}

// hashed reports whether the symbol has its content for a name.
func (s symbol) hashed() bool { return s.i >= s.o.defs[0] && s.i < s.o.defs[2] }

// name has the calling convention, as a function may be there for both.
func (s symbol) name() string {
	return s.o.nameAt(s.o.offsets[blockDefs] + uint32(s.i*symbolSize))
}

func (o *object) nameAt(at uint32) string {
	return fmt.Sprintf("%s<%d>", o.text(at), binary.LittleEndian.Uint16(o.data[at+8:]))
}

// span returns where what belongs to the symbol begins and ends, by an index.
func (s symbol) span(index int) (from, to uint32) {
	at := s.o.offsets[index] + uint32(4*s.i)
	return s.o.uint32(at), s.o.uint32(at + 4)
}

func (s symbol) content() []byte {
	from, to := s.span(blockDataIndex)
	base := s.o.offsets[blockData]
	return s.o.data[base+from : base+to]
}

// shared reports whether other packages may have the same definition, as those of types and of generic functions.
func (s symbol) shared() bool { return s.head()[11]&1 != 0 }

// typed reports whether the symbol has a type, as variables have.
func (s symbol) typed() bool {
	from, to := s.span(blockAuxIndex)
	for i := from; i < to; i++ {
		if at := s.o.offsets[blockAux] + i*auxSize; s.o.data[at] == auxType && s.o.uint32(at+1) != 0 {
			return true
		}
	}
	return false
}

func (s symbol) size() uint32 { return binary.LittleEndian.Uint32(s.head()[13:]) }

// references are the names of what a package refers to by name and does not define.
func (p *pkg) references() (names []string, err error) {
	defer func() {
		if recover() != nil {
			err = errFormat
		}
	}()
	for _, o := range p.objects {
		for i := range o.len(blockNamedRefs, symbolSize) {
			name := o.nameAt(o.offsets[blockNamedRefs] + uint32(i*symbolSize))
			if _, ok := p.named[name]; !ok {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// A ref is what a symbol's content needs the address, or the properties of.
type ref struct {
	how [15]byte // where in the content, and in what way
	to  target
}

// refs are those of the content, and then the type and what the collector finds on the stack.
func (s symbol) refs() (refs []ref) {
	from, to := s.span(blockRelocIndex)
	for i := from; i < to; i++ {
		at := s.o.offsets[blockRelocs] + i*relocSize
		refs = append(refs, ref{[15]byte(s.o.data[at:]), s.o.target(at + 15)})
	}
	from, to = s.span(blockAuxIndex)
	for i := from; i < to; i++ {
		at := s.o.offsets[blockAux] + i*auxSize
		if kind := s.o.data[at]; kind == auxType || kind == auxFuncData || kind == auxPCData {
			refs = append(refs, ref{[15]byte{kind}, s.o.target(at + 1)})
		}
	}
	return refs
}

// A target is a symbol as a reference has it.
type target struct {
	symbol symbol // of the same object; else its o is nil
	pkg    string // of another package, with the number of its definition
	index  int
	name   string // of what is known by name
}

func (o *object) target(at uint32) target {
	in, i := o.uint32(at), int(o.uint32(at+4))
	switch in {
	case 0:
		return target{}
	case inSelf:
		return target{symbol: symbol{o, i}}
	case inHashed64:
		return target{symbol: symbol{o, o.defs[0] + i}}
	case inHashed:
		return target{symbol: symbol{o, o.defs[1] + i}}
	case inBuiltin:
		return target{pkg: "builtin", index: i}
	case inNone:
		if defs := o.defs[3] - o.defs[2]; i < defs {
			return target{symbol: symbol{o, o.defs[2] + i}}
		} else if refs := o.len(blockNamedRefs, symbolSize); i-defs >= refs {
			panic(errFormat)
		} else {
			return target{name: o.nameAt(o.offsets[blockNamedRefs] + uint32((i-defs)*symbolSize))}
		}
	}
	return target{pkg: o.text(o.offsets[blockPackages] + 8*in), index: i}
}
