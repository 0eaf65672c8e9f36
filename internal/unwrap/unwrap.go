// Package unwrap reads text files as they lie around: compressed, in UTF-16, and with each line inside of another, as
// container runtimes, journald, loggers and go test -json keep it.
//
// It knows no format of what is inside. It owns how text is wrapped, and nothing else does.
package unwrap

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

const bufferSize = 64 << 10

// Text returns the text of a file as UTF-8 without a byte order mark: what gzip and zstd compressed, even several times, and what
// Windows' PowerShell writes (UTF-16 with a mark, or without one where every other byte of the beginning is 0). Lines keep their ends.
func Text(r io.Reader) (*bufio.Reader, error) {
	const most = 3 // times compressed
	in := bufio.NewReaderSize(r, bufferSize)
	for range most {
		begin, _ := in.Peek(4)
		switch {
		case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
			z, err := gzip.NewReader(in)
			if err != nil {
				return nil, fmt.Errorf("it is no gzip file: %w", err)
			}
			in = bufio.NewReaderSize(z, bufferSize)
		case bytes.Equal(begin, []byte{0x28, 0xb5, 0x2f, 0xfd}):
			z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<28))
			if err != nil {
				return nil, fmt.Errorf("it is no zstd file: %w", err)
			}
			in = bufio.NewReaderSize(z, bufferSize)
		}
	}
	begin, err := in.Peek(64)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch order, wide := widths(begin); {
	case wide:
		in = bufio.NewReaderSize(transform.NewReader(in, unicode.UTF16(order, unicode.UseBOM).NewDecoder()), bufferSize)
	case bytes.HasPrefix(begin, []byte("\ufeff")):
		in.Discard(len("\ufeff"))
	}
	return in, nil
}

// widths reports whether a text that begins so is UTF-16, and in which order without a mark.
func widths(begin []byte) (order unicode.Endianness, wide bool) {
	switch {
	case bytes.HasPrefix(begin, []byte{0xff, 0xfe}), bytes.HasPrefix(begin, []byte{0xfe, 0xff}):
		return unicode.LittleEndian, true // the mark decides
	case len(begin) < 8:
		return unicode.LittleEndian, false
	}
	zeros := [2]int{}
	for i, c := range begin[:len(begin)&^1] {
		if c == 0 {
			zeros[i%2]++
		}
	}
	half := len(begin) / 2
	switch {
	case zeros[1] == half && zeros[0] == 0:
		return unicode.LittleEndian, true
	case zeros[0] == half && zeros[1] == 0:
		return unicode.BigEndian, true
	}
	return unicode.LittleEndian, false
}

// Open returns what is inside of the lines of a file, or of stdin if its name is "-": [Lines] of [Text].
func Open(name string, stdin io.Reader) (io.ReadCloser, error) {
	f := io.NopCloser(stdin)
	if name != "-" {
		var err error
		if f, err = os.Open(name); err != nil {
			return nil, err
		}
	}
	text, err := Text(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", name, err), f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{Lines(text), f}, nil
}
