package probe

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// A client asks the injected probe over its unix socket. A command is a line;
// the answer is "ok N\n" and N bytes, or "error MESSAGE\n".
type client struct {
	socket string
	conn   net.Conn // nil before the first command and after an error
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

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

func (c *client) try(command string) (err error) {
	if c.conn == nil {
		if c.conn, err = net.DialTimeout("unix", c.socket, answerTime); err != nil {
			c.conn = nil
			return err
		}
		c.r = bufio.NewReaderSize(c.conn, 16<<10)
	}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if err := c.conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	if _, err := io.WriteString(c.conn, command+"\n"); err != nil {
		return err
	}
	head, err := c.r.ReadSlice('\n')
	if err != nil {
		return err
	}
	head = head[:len(head)-1]
	if msg, ok := bytes.CutPrefix(head, []byte("error ")); ok {
		return refusal(msg)
	}
	size, ok := bytes.CutPrefix(head, []byte("ok "))
	n, err := strconv.Atoi(string(size))
	if !ok || err != nil || n < 0 || n > answerMost {
		return fmt.Errorf("unexpected answer %.100q", head)
	}
	if cap(c.answer) < n {
		c.answer = make([]byte, n+n/4)
	}
	c.answer = c.answer[:n]
	_, err = io.ReadFull(c.r, c.answer)
	return err
}

func (c *client) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}
