package probe

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// A client asks the injected probe over its unix socket. A command is a line;
// the answer is "ok N\n" and N bytes, or "error MESSAGE\n". Before the "ok" of
// a trace there is any number of "part N\n" and N bytes.
type client struct {
	socket string
	time   time.Duration // instead of answerTime; 0 means that
	most   int           // instead of answerMost; 0 means that
	conn   net.Conn      // nil before the first command and after an error
	r      *bufio.Reader
	answer []byte
}

const (
	// answerTime is how long one command may take, dialling included. A
	// starved subject is slow; one that does not answer in this time is lost.
	answerTime = 5 * time.Second
	answerMost = 16 << 20 // bytes
)

// A refusal is the injected probe's "error MESSAGE".
type refusal string

func (r refusal) Error() string { return string(r) }

// ask sends a command and returns the answer, which is valid until the next
// call. A connection that the other side has closed since the last command is
// made anew, once.
func (c *client) ask(command string) ([]byte, error) {
	used := c.conn != nil
	err := c.try(command)
	var refused refusal
	if used && err != nil && !errors.As(err, &refused) && !isTimeout(err) {
		err = c.try(command)
	}
	if err != nil {
		return nil, fmt.Errorf("ask injected probe %q: %w", command, err)
	}
	return c.answer, nil
}

func (c *client) try(command string) (err error) {
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	limit := cmp.Or(c.time, answerTime)
	if err := c.send(command, limit); err != nil {
		return err
	}
	word, n, err := c.head()
	if err != nil {
		return err
	}
	if word != "ok" || n > cmp.Or(c.most, answerMost) {
		return fmt.Errorf("unexpected answer \"%s %d\"", word, n)
	}
	if cap(c.answer) < n {
		c.answer = make([]byte, n+n/4)
	}
	c.answer = c.answer[:n]
	_, err = io.ReadFull(c.r, c.answer)
	return err
}

// send sends a command that must be answered within the time given.
func (c *client) send(command string, limit time.Duration) (err error) {
	if c.conn == nil {
		if c.conn, err = net.DialTimeout("unix", c.socket, limit); err != nil {
			c.conn = nil
			return err
		}
		c.r = bufio.NewReaderSize(c.conn, 16<<10)
	}
	if err := c.conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	_, err = io.WriteString(c.conn, command+"\n")
	return err
}

// head reads the line that stands before n bytes of answer.
func (c *client) head() (word string, n int, err error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return "", 0, err
	}
	line = line[:len(line)-1]
	if msg, ok := bytes.CutPrefix(line, []byte("error ")); ok {
		return "", 0, refusal(msg)
	}
	first, size, ok := bytes.Cut(line, []byte(" "))
	n, err = strconv.Atoi(string(size))
	if !ok || err != nil || n < 0 {
		return "", 0, fmt.Errorf("unexpected answer %.100q", line)
	}
	return string(first), n, nil
}

// stream sends a command whose answer comes in parts, calls begun, and writes
// them to w. It must come to its end within the time given; the end of ctx
// asks for that at once.
func (c *client) stream(ctx context.Context, command string, limit time.Duration, begun func(), w io.Writer) error {
	defer c.close() // which ends it in any case
	if err := c.send(command, limit); err != nil {
		return fmt.Errorf("ask injected probe %q: %w", command, err)
	}
	begun()
	conn := c.conn
	defer context.AfterFunc(ctx, func() {
		conn.SetDeadline(time.Now().Add(cmp.Or(c.time, answerTime)))
		io.WriteString(conn, "stop\n")
	})()
	for {
		word, n, err := c.head()
		if err == nil && word == "ok" {
			return nil
		}
		if err == nil && word != "part" {
			err = fmt.Errorf("unexpected answer %q", word)
		}
		if err == nil {
			_, err = io.CopyN(w, c.r, int64(n))
		}
		if err != nil {
			return fmt.Errorf("ask injected probe %q: %w", command, err)
		}
	}
}

func (c *client) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}
