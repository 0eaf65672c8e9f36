package needs

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/subject/freeport"
	"github.com/dynolab/dyno/internal/subject/guard"
	"github.com/dynolab/dyno/internal/subject/lastlines"
)

// redis is a Redis, or a Valkey, which writes nothing to disk unless its arguments say so. In a shared one each
// subject has one of its 16 numbered databases.
type redis struct{ plain }

const dumpFile = "dump.rdb"

func (redis) program(version string) (string, error) {
	path, err := find("redis-server", "apt install redis-server")
	if err != nil {
		valkey, err2 := find("valkey-server", "")
		if err2 != nil {
			return "", err
		}
		path = valkey
	}
	return path, isVersion(path, "--version", "v=", version, "leave out version")
}

// users: it needs none of root's rights.
func (redis) users() []string { return []string{"redis", "valkey", "nobody"} }

func (k redis) job(ctx context.Context, keeper *Keeper, name string, s *server, user *guard.User, _ map[string]any, dir string) (*guard.Job, error) {
	if seeded(s.need) {
		seed, err := keeper.seedOf(ctx, name, s.need, dir)
		if err != nil {
			return nil, err
		}
		if err := copyDump(s.dir, seed.dir); err != nil {
			return nil, copyError(err)
		}
		if user != nil {
			if err := os.Chown(filepath.Join(s.dir, dumpFile), int(user.UID), int(user.GID)); err != nil {
				return nil, err
			}
		}
	}
	return k.launch(s, user, s.need.Redis.Args)
}

func copyDump(to, from string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	in, err := root.Open(dumpFile)
	if err != nil {
		return err
	}
	defer in.Close()
	return copyFile(filepath.Join(to, dumpFile), in, 0o600)
}

func (redis) launch(s *server, user *guard.User, args []string) (*guard.Job, error) {
	path := s.program
	conf, err := s.write("redis.conf", "requirepass "+s.secret+"\n", user)
	if err != nil {
		return nil, err
	}
	argv := append([]string{path, conf}, redis{}.args(addressOf(s.addr), s.dir)...)
	return &guard.Job{Path: path, Args: append(argv, args...), Dir: s.dir, Env: os.Environ()}, nil
}

// args are those of each server.
func (redis) args(at map[string]string, dir string) []string {
	return []string{"--bind", at["Host"], "--port", at["Port"], "--dir", dir, "--dbfilename", dumpFile, "--save", "", "--appendonly", "no", "--daemonize", "no"}
}

// ready: while it loads a dump it answers with an error.
func (redis) ready(ctx context.Context, s *server) error {
	c, err := dialRedis(ctx, s)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.do("PING")
	return err
}

func (redis) url(s *server, addr, space string) string {
	return "redis://:" + s.secret + "@" + addr + "/" + cmp.Or(space, "0") // some readers want a number
}

// open empties a numbered database, and fills it with the seed.
func (redis) open(ctx context.Context, s *server, _ string) (string, error) {
	space := ""
	for n := 1; n < 16; n++ { // 0 has the seed
		if space = strconv.Itoa(n); s.spaces == nil || !s.spaces[space] {
			break
		}
		space = ""
	}
	if space == "" {
		return "", errors.New("its 15 numbered databases are all in use (consider: per: launch)")
	}
	c, err := dialRedis(ctx, s)
	if err != nil {
		return "", err
	}
	defer c.Close()
	for _, command := range []string{"SELECT " + space, "FLUSHDB"} {
		if _, err := c.do(command); err != nil {
			return "", err
		}
	}
	if s.spaces == nil {
		s.spaces = map[string]bool{}
	}
	s.spaces[space] = true
	if err := c.feed(s.need.Redis.Seed); err != nil {
		return "", err
	}
	return space, s.filled(ctx, space, s.home)
}

func (redis) drop(s *server, space string) { delete(s.spaces, space) }

// count: who shares a server cannot tell its own commands from others'.
func (redis) count(ctx context.Context, s *server, space string) (c probe.Count, err error) {
	if space != "" {
		c.Unknown = sharedCount
		return c, nil
	}
	conn, err := dialRedis(ctx, s)
	if err != nil {
		return c, err
	}
	defer conn.Close()
	commands, err := conn.do("INFO commandstats")
	if err != nil {
		return c, err
	}
	clients, err := conn.do("INFO clients")
	if err != nil {
		return c, err
	}
	stats, err := conn.do("INFO stats")
	if err != nil {
		return c, err
	}
	s.asked++ // by a connection of its own
	c.Statements = map[string]dyno.Statement{}
	for line := range strings.Lines(commands + "\n" + clients + "\n" + stats) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "connected_clients" {
			c.Connections, c.HasConnections = number([]byte(rest))-1, true
		}
		if name == "total_connections_received" {
			c.Opened, c.HasOpened = number([]byte(rest))-float64(s.asked), true
		}
		command, ok := strings.CutPrefix(name, "cmdstat_")
		if !ok || command == "info" || command == "auth" {
			continue
		}
		var calls, usec float64
		if _, err := fmt.Sscanf(rest, "calls=%f,usec=%f", &calls, &usec); err == nil {
			c.Statements[command] = dyno.Statement{Text: strings.ToUpper(strings.ReplaceAll(command, "|", " ")), Calls: calls, Sec: usec / 1e6}
		}
	}
	return c, nil
}

// fill makes the dump of a seed.
func (k redis) fill(ctx context.Context, keeper *Keeper, _ string, need *dyno.Need, seed *seed, user *guard.User) (err error) {
	s := &server{kind: k, need: need, lines: lastlines.New(nil), dir: seed.dir, secret: keeper.secret, program: seed.program, engine: seed.engine}
	if s.addr, err = freeport.At("127.0.0.1"); err != nil {
		return err
	}
	job, err := k.launch(s, user, nil)
	if err != nil {
		return err
	}
	return keeper.during(ctx, s, job, user, func() error { return k.feed(ctx, s, seed.home, true) })
}

// feed fills a server by the seed's files and the command, and perhaps makes the dump.
func (redis) feed(ctx context.Context, s *server, home string, dump bool) error {
	c, err := dialRedis(ctx, s)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.feed(s.need.Redis.Seed); err != nil {
		return err
	}
	if err := s.filled(ctx, "", home); err != nil || !dump {
		return err
	}
	c.SetDeadline(time.Now().Add(time.Minute))
	_, err = c.do("SAVE")
	return err
}

// A redisConn sends inline commands: https://redis.io/docs/latest/develop/reference/protocol-spec.
type redisConn struct {
	net.Conn
	in *bufio.Reader
}

func dialRedis(ctx context.Context, s *server) (*redisConn, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.addr)
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(time.Now().Add(time.Minute))
	c := &redisConn{conn, bufio.NewReader(conn)}
	if _, err := c.do("AUTH " + s.secret); err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

func (c *redisConn) do(command string) (string, error) {
	if _, err := io.WriteString(c, command+"\r\n"); err != nil {
		return "", err
	}
	return c.reply()
}

// reply reads an answer; of a list it is the last element.
func (c *redisConn) reply() (string, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(line[1:])
	switch line[0] {
	case '-':
		return "", fmt.Errorf("redis: %s", text)
	case '$':
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return "", err
		}
		body := make([]byte, n+2)
		_, err = io.ReadFull(c.in, body)
		return string(body[:n]), err
	case '*':
		n, _ := strconv.Atoi(text)
		for range n {
			if text, err = c.reply(); err != nil {
				return "", err
			}
		}
	}
	return text, nil
}

// feed sends the commands of files. An error has the file and line.
func (c *redisConn) feed(files []string) error {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			c.SetDeadline(time.Now().Add(time.Minute))
			if _, err := c.do(line); err != nil {
				return fmt.Errorf("seed %s:%d: %w", filepath.Base(file), i+1, err)
			}
		}
	}
	return nil
}
