package unwrap

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/unicode"
)

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	w.Close()
	return b.String()
}

func zstandard(text string) string {
	w, _ := zstd.NewWriter(nil)
	return string(w.EncodeAll([]byte(text), nil))
}

func wide(order unicode.Endianness, mark unicode.BOMPolicy, text string) string {
	s, err := unicode.UTF16(order, mark).NewEncoder().String(text)
	if err != nil {
		panic(err)
	}
	return s
}

// However a file is kept, its text is the same.
func TestText(t *testing.T) {
	const text = "BenchmarkA-8 \t 100\t 100 ns/op\r\nµs and 🐵\n"
	for name, in := range map[string]string{
		"as it is":             text,
		"mark":                 "\ufeff" + text,
		"PowerShell":           wide(unicode.LittleEndian, unicode.UseBOM, text),
		"big endian":           wide(unicode.BigEndian, unicode.UseBOM, text),
		"without a mark":       wide(unicode.LittleEndian, unicode.IgnoreBOM, strings.Repeat("a", 40)+text),
		"gzip":                 zipped(text),
		"zstd":                 zstandard(text),
		"gzip of UTF-16":       zipped(wide(unicode.LittleEndian, unicode.UseBOM, text)),
		"zstd of gzip":         zstandard(zipped(text)),
		"gzip of zstd, a mark": zipped(zstandard("\ufeff" + text)),
	} {
		want := text
		if name == "without a mark" {
			want = strings.Repeat("a", 40) + text
		}
		for _, how := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.DataErrReader, iotest.HalfReader} {
			r, err := Text(how(strings.NewReader(in)))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if got, err := io.ReadAll(r); string(got) != want || err != nil {
				t.Errorf("%s: %q, error %v", name, got, err)
			}
		}
	}
	for name, in := range map[string]string{"cut off": zipped(text)[:20], "zstd": zstandard(strings.Repeat(text, 100))[:30]} {
		if r, err := Text(strings.NewReader(in)); err == nil {
			if _, err = io.ReadAll(r); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	}
}

// What is inside of each line comes out, in order, whatever the sizes of reads are.
func TestLines(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "gc 1 @0.1s\n{not JSON\nlast", "gc 1 @0.1s\n{not JSON\nlast"},
		{"docker", `{"log":"gc 47 211-\u003e214 MB\n","stream":"stderr","time":"2026-02-26T12:23:23.732Z"}` + "\n", "gc 47 211->214 MB\n"},
		{"docker, a line in pieces", `{"log":"gc 4","stream":"stderr"}` + "\n" + `{"log":"out\n","stream":"stdout"}` + "\n" + `{"log":"7 @1s\n","stream":"stderr"}` + "\n", "out\ngc 47 @1s\n"},
		{"journald", `{"MESSAGE":"gc 1 @0.1s","PRIORITY":"6"}` + "\n" + `{"MESSAGE":[103,99,32,50]}` + "\n", "gc 1 @0.1s\ngc 2\n"},
		{"zap in docker", `{"log":"{\"level\":\"info\",\"msg\":\"gc 5 @2s\"}\n","stream":"stderr"}` + "\n", "gc 5 @2s\n"},
		{"go test -json", `{"Action":"start","Package":"x"}` + "\n" +
			`{"Action":"output","Package":"x","Test":"BenchmarkA","Output":"BenchmarkA-8 \t"}` + "\n" +
			`{"Action":"output","Package":"y","Output":"goos: linux\n"}` + "\n" +
			`{"Action":"output","Package":"x","Test":"BenchmarkA","Output":" 100\t 100 ns/op\n"}` + "\n", "goos: linux\nBenchmarkA-8 \t 100\t 100 ns/op\n"},
		{"an object without a text", `{"a":1}` + "\n", `{"a":1}` + "\n"},
		{"the last line without an end", `{"msg":"a"}`, "a\n"},
		{"log is no text", `{"log":{"version":"1.2"}}` + "\n", `{"log":{"version":"1.2"}}` + "\n"},
		{"braces in a plain line", "x {\"msg\":\"a\"}\n", "x {\"msg\":\"a\"}\n"},
	} {
		for _, size := range []int{1, 2, 7, 64, 1 << 16} {
			got, err := io.ReadAll(Lines(sized{strings.NewReader(c.in), size}))
			if string(got) != c.want || err != nil {
				t.Errorf("%s in pieces of %d: %q, want %q (error %v)", c.name, size, got, c.want, err)
			}
		}
	}
	if got, err := io.ReadAll(Lines(iotest.TimeoutReader(strings.NewReader(strings.Repeat("plain\n", 100000))))); err == nil || len(got) == 0 {
		t.Errorf("an error of the file is lost: %v after %d bytes", err, len(got))
	}
}

type sized struct {
	r io.Reader
	n int
}

func (s sized) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), s.n)]) }

// Text that is not wrapped comes out as it went in, and nothing makes Lines fail or go on for ever.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\n{\"msg\":\"b\"}\n"), 3)
	f.Add([]byte(`{"log":"x","stream":"s"}`), 1)
	f.Add([]byte("{\"Action\":\"output\",\"Package\":\"p\",\"Output\":\"x\"}\n\n"), 100)
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		size = max(size, 1)
		got, err := io.ReadAll(Lines(sized{bytes.NewReader(in), size}))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(in, []byte("{")) && !bytes.Equal(got, in) {
			t.Fatalf("%q becomes %q", in, got)
		}
		if whole, _ := io.ReadAll(Lines(bytes.NewReader(in))); !bytes.Equal(got, whole) {
			t.Fatalf("in pieces of %d: %q, whole: %q", size, got, whole)
		}
	})
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"a", "\ufeffa", wide(unicode.LittleEndian, unicode.UseBOM, "text"), zipped("a"), zstandard("a")} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := Text(bytes.NewReader(in))
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, io.LimitReader(r, 1<<24)); err != nil {
			return
		}
	})
}

// Lines that are not wrapped cost little.
func BenchmarkLines(b *testing.B) {
	text := strings.Repeat("gc 47 @1334.066s 0%: 0.056+27+0.026 ms clock, 0.45+0.33/53/122+0.21 ms cpu, 211->214->163 MB, 216 MB goal, 8 P\n", 10000)
	for _, wrapped := range []bool{false, true} {
		b.Run(fmt.Sprint(wrapped), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for range b.N {
				r := io.Reader(strings.NewReader(text))
				if wrapped {
					r = Lines(r)
				}
				io.Copy(io.Discard, struct{ io.Reader }{r})
			}
		})
	}
}
