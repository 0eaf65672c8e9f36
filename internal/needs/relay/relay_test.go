package relay

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/dynolab/dyno"
)

// A relay delays what is sent to the need, passes all of it on in order, and the end of it, too.
func TestRelay(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // answers each line at once, and the end with END
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				fmt.Fprintln(conn, lines.Text())
			}
			fmt.Fprintln(conn, "END")
			conn.Close()
		}
	}()
	const delay = 20 * time.Millisecond
	r, err := New(l.Addr().String(), dyno.Duration(delay), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	conn, err := net.Dial("tcp", r.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewScanner(conn)
	for range 3 {
		sent := time.Now()
		fmt.Fprintln(conn, "hello")
		if in.Scan(); in.Text() != "hello" || time.Since(sent) < delay*9/10 {
			t.Errorf("%q came back after %v", in.Text(), time.Since(sent))
		}
	}
	const many = 20000
	go func() {
		w := bufio.NewWriter(conn)
		for i := range many {
			fmt.Fprintln(w, i)
		}
		w.Flush()
		conn.(*net.TCPConn).CloseWrite()
	}()
	for i := range many {
		if in.Scan(); in.Text() != fmt.Sprint(i) {
			t.Fatalf("line %d is %q", i, in.Text())
		}
	}
	if in.Scan(); in.Text() != "END" {
		t.Errorf("the end did not arrive: %q", in.Text())
	}
	if in.Scan() {
		t.Errorf("after the end came %q", in.Text())
	}
}
