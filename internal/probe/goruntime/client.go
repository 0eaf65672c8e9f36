// Package goruntime reads what a subject's Go runtime knows: by the injected probe, and
// by its trace of collections. It also takes snapshots of its memory, and turns its knobs.
package goruntime

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno/internal/probe"
)

// A Client asks the injected probe over its unix socket. A command is a line; the answer
// is "ok N\n" and N bytes, or "error MESSAGE\n". Any number of "part N\n" and N bytes come
// before the "ok" of a trace.
type Client struct {
	Socket string
	conn   net.Conn // nil before the first command and after an error
	r      *bufio.Reader
	answer []byte
}

const (
	// answerTime bounds one command, dialling included. A starved subject is slow;
	// one that takes longer is lost.
	answerTime  = 5 * time.Second
	ProfileTime = time.Minute // for one profile, a collection of a large heap included
	AnswerMost  = 256 << 20   // bytes; a profile may be large
)

// limitOf is how long a command may take.
func limitOf(command string) time.Duration {
	if command == "gc" || command == "free" || command == "cpu stop" || strings.HasPrefix(command, "profile ") {
		return ProfileTime
	}
	return answerTime
}

type refusal string

func (r refusal) Error() string { return string(r) }

// Ask sends a command and returns the answer, valid until the next call. It reconnects
// once if the other side has closed the connection.
func (c *Client) Ask(command string) ([]byte, error) {
	used := c.conn != nil
	err := c.try(command)
	var refused refusal
	if used && err != nil && !errors.As(err, &refused) && !probe.IsTimeout(err) {
		err = c.try(command)
	}
	if err != nil {
		return nil, fmt.Errorf("ask injected probe %q: %w", command, err)
	}
	return c.answer, nil
}

func (c *Client) try(command string) (err error) {
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if err := c.send(command, limitOf(command)); err != nil {
		return err
	}
	word, n, err := c.head()
	if err != nil {
		return err
	}
	if word != "ok" || n > AnswerMost {
		return fmt.Errorf("unexpected answer \"%s %d\"", word, n)
	}
	if cap(c.answer) < n {
		c.answer = make([]byte, n+n/4)
	}
	c.answer = c.answer[:n]
	_, err = io.ReadFull(c.r, c.answer)
	return err
}

func (c *Client) send(command string, limit time.Duration) (err error) {
	if c.conn == nil {
		if c.conn, err = net.DialTimeout("unix", c.Socket, limit); err != nil {
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

func (c *Client) head() (word string, n int, err error) {
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

// Stream sends a command, calls begun, and writes the parts of its answer to w. That
// must end within limit; the end of ctx asks for the end at once.
func (c *Client) Stream(ctx context.Context, command string, limit time.Duration, begun func(), w io.Writer) error {
	defer c.Close() // which ends it in any case
	if err := c.send(command, limit); err != nil {
		return fmt.Errorf("ask injected probe %q: %w", command, err)
	}
	begun()
	conn := c.conn
	defer context.AfterFunc(ctx, func() {
		conn.SetDeadline(time.Now().Add(answerTime))
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

func (c *Client) Close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}
