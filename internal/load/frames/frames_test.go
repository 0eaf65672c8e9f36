package frames

import (
	"bytes"
	"testing"
)

func TestRecord(t *testing.T) {
	want := Record{Due: 1, Free: 2, Sent: 3, Done: -4, In: 5, Out: 6, Messages: 7, Client: 8, Step: 9, Kind: 10, Flags: Follows | Mark}
	p := want.Append(nil)
	if len(p) != Size {
		t.Fatalf("%d bytes, want %d", len(p), Size)
	}
	var got Record
	if got.Read(p); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Whatever is read is a frame or an error, and takes no more memory than a frame may have.
func FuzzRead(f *testing.F) {
	f.Add(Bytes(KindDue, 1, 2, 3))
	f.Add(JSON(KindHello, Hello{Version: 1}))
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := bytes.NewReader(text)
		for buf := []byte(nil); ; {
			k, content, err := Read(r, buf)
			if err != nil {
				return
			}
			if len(content) > Most || !bytes.Contains(text, Bytes(k, content...)) {
				t.Fatalf("read %d bytes that are not there", len(content))
			}
			buf = content
		}
	})
}
