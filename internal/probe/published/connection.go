package published

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
)

// A pageConn asks for one page again and again over one connection, in its caller's
// goroutine. It follows no redirects.
//
// Note: net/http's client hands each page through three goroutines. Waking their threads ten
// times a second was half of a watch's cost.
type pageConn struct {
	url      *url.URL
	request  []byte // as it is sent
	insecure bool

	conn net.Conn // nil before the first page and after an error
	r    *bufio.Reader
	page bytes.Buffer
}

func newPageConn(page, accept string, insecure bool) (*pageConn, error) {
	req, err := http.NewRequest(http.MethodGet, page, nil)
	if err != nil {
		return nil, err
	}
	u := req.URL
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("%s is not the URL of a page", u.Redacted())
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", "dyno")
	if u.User != nil {
		password, _ := u.User.Password()
		req.SetBasicAuth(u.User.Username(), password)
	}
	var text bytes.Buffer
	if err := req.Write(&text); err != nil {
		return nil, err
	}
	return &pageConn{url: u, request: text.Bytes(), insecure: insecure}, nil
}

// A silence means that no HTTP server answered.
type silence struct{ error }

func (e silence) Unwrap() error { return e.error }

// A statusError is an answer without a page.
type statusError string

func (e statusError) Error() string {
	return string(e) + " (consider: the path where the service publishes it)"
}

// get returns the page, valid until the next call. It reconnects once if the service has
// closed the connection.
func (c *pageConn) get(limit time.Duration) ([]byte, error) {
	deadline := time.Now().Add(limit)
	used := c.conn != nil
	resp, err := c.ask(deadline)
	if used && err != nil && !probe.IsTimeout(err) {
		c.close()
		resp, err = c.ask(deadline)
	}
	if err != nil {
		c.close()
		return nil, silence{err}
	}
	if resp.StatusCode != http.StatusOK {
		c.close() // without what the body says
		return nil, statusError(resp.Status)
	}
	err = readPage(&c.page, resp.Body, pageMost)
	if err != nil || resp.Close {
		c.close()
	}
	if err != nil {
		return nil, err
	}
	return c.page.Bytes(), nil
}

func (c *pageConn) ask(deadline time.Time) (*http.Response, error) {
	if err := c.dial(deadline); err != nil {
		return nil, err
	}
	if err := c.conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	if _, err := c.conn.Write(c.request); err != nil {
		return nil, err
	}
	return http.ReadResponse(c.r, nil)
}

// dial connects past any proxy, as the load does.
func (c *pageConn) dial(deadline time.Time) (err error) {
	if c.conn != nil {
		return nil
	}
	if c.url.Host == dyno.SocketHost {
		return errors.New("pages are read over TCP only, not at a unix socket")
	}
	d := &net.Dialer{Deadline: deadline}
	port := map[string]string{"http": "80", "https": "443"}[c.url.Scheme]
	addr := net.JoinHostPort(c.url.Hostname(), cmp.Or(c.url.Port(), port))
	var conn net.Conn
	if c.url.Scheme == "https" {
		conn, err = tls.DialWithDialer(d, "tcp", addr, &tls.Config{InsecureSkipVerify: c.insecure})
	} else {
		conn, err = d.Dial("tcp", addr)
	}
	if err != nil {
		return err
	}
	c.conn, c.r = conn, bufio.NewReaderSize(conn, 16<<10)
	return nil
}

func (c *pageConn) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}
