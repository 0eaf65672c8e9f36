package goruntime

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
)

// A traceSwitch is the variable runtime.debug.gctrace in a process's memory. The runtime
// reads it at the end of each collection (runtime/mgc.go, gcMarkTermination) and sets it
// only when the program begins. It is written through /proc/PID/mem, which the kernel
// grants to whoever may trace the process: an ancestor of the same user, in most systems.
type traceSwitch struct {
	file *os.File // the memory; nil before open
	at   int64    // the address
}

// open finds the variable, which must be 1 now.
func (s *traceSwitch) open(pid int) error {
	exe, err := elf.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return err
	}
	defer exe.Close()
	at, err := traceVariable(exe)
	if err != nil {
		return err
	}
	if exe.Type == elf.ET_DYN {
		bias, err := loadedAt(pid, exe)
		if err != nil {
			return err
		}
		at += bias
	}
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	*s = traceSwitch{f, int64(at)}
	var b [4]byte
	if _, err = f.ReadAt(b[:], s.at); err == nil && binary.NativeEndian.Uint32(b[:]) != 1 {
		err = fmt.Errorf("it is not at its address: found %v there, not 1", b)
	}
	if err != nil {
		s.close()
	}
	return err
}

func (s *traceSwitch) set(on bool) error {
	var b [4]byte
	if on {
		binary.NativeEndian.PutUint32(b[:], 1)
	}
	_, err := s.file.WriteAt(b[:], s.at)
	return err
}

func (s *traceSwitch) close() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}

// traceVariable returns the address of runtime.debug.gctrace; its place in the struct
// differs between Go versions.
func traceVariable(exe *elf.File) (uint64, error) {
	symbols, err := exe.Symbols()
	if err != nil {
		return 0, fmt.Errorf("%w (consider: a build without -ldflags=-s)", err)
	}
	for _, symbol := range symbols {
		if symbol.Name != "runtime.debug" {
			continue
		}
		if exe.Section(".debug_info") == nil && exe.Section(".zdebug_info") == nil {
			return 0, errors.New("the program has no debug information (consider: a build without -ldflags=-w)")
		}
		d, err := exe.DWARF()
		if err != nil {
			return 0, err
		}
		offset, err := fieldOffset(d, symbol.Name, "gctrace")
		return symbol.Value + uint64(offset), err
	}
	return 0, errors.New("the program has no symbol runtime.debug")
}

func fieldOffset(d *dwarf.Data, variable, field string) (int64, error) {
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			return 0, err
		}
		if e == nil {
			return 0, fmt.Errorf("the debug information lacks %s", variable)
		}
		if e.Tag != dwarf.TagCompileUnit && e.Children {
			r.SkipChildren()
		}
		if name, _ := e.Val(dwarf.AttrName).(string); e.Tag != dwarf.TagVariable || name != variable {
			continue
		}
		ref, _ := e.Val(dwarf.AttrType).(dwarf.Offset)
		t, err := d.Type(ref)
		if err != nil {
			return 0, err
		}
		if s, ok := t.(*dwarf.StructType); ok {
			for _, f := range s.Field {
				if f.Name == field && f.Type.Size() == 4 {
					return f.ByteOffset, nil
				}
			}
		}
		return 0, fmt.Errorf("%s has no field %s of 4 bytes", variable, field)
	}
}

// loadedAt is how far from its file's addresses a position-independent program was loaded.
func loadedAt(pid int, exe *elf.File) (uint64, error) {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return 0, err
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, err
	}
	page := uint64(os.Getpagesize())
	for line := range strings.Lines(string(maps)) {
		var start, end, offset uint64
		var rights string
		_, err := fmt.Sscanf(line, "%x-%x %s %x", &start, &end, &rights, &offset)
		if err != nil || offset != 0 || !strings.HasSuffix(line, " "+path+"\n") {
			continue
		}
		for _, segment := range exe.Progs {
			if segment.Type == elf.PT_LOAD && segment.Off < page {
				return start - segment.Vaddr&^(page-1), nil
			}
		}
	}
	return 0, errors.New("the load address of the program is unknown")
}
