package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/web"
	"github.com/dynolab/dyno/internal/web/child"
)

type viewFlags struct {
	addr  string
	hosts []string
	open  bool
}

func newView() *cobra.Command {
	var o viewFlags
	cmd := &cobra.Command{
		Use:   "view [DIR]",
		Short: "Show runs in a browser, also while they are under way",
		Long: `View serves the runs in a directory (default dyno-runs) at an address that it prints,
until Ctrl-C. It shows a list of runs, each run with its charts and profiles, what it
predicts of other values of GOGC and GOMEMLIMIT, any two runs compared, and the trend
of a metric over the runs of one name. DIR may also be one run directory. The address
has a secret, which the browser exchanges for a cookie. Seeing a page, and stopping or
resuming a run, needs the secret or the cookie. Each page has a plain address that can
be reloaded. Nothing leaves this machine unless --addr says otherwise.

    dyno view
    dyno view --open ./dyno-runs
    dyno view --addr 127.0.0.1:8080                     the same address each time
    dyno view --addr 127.0.0.1:8080 --host localhost:9000     through ssh -L 9000:127.0.0.1:8080`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "dyno-runs"
			if len(args) == 1 {
				dir = args[0]
			}
			return o.view(cmd, dir)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.addr, "addr", "127.0.0.1:0", "`address` to listen at; port 0 picks a free port")
	flags.StringSliceVar(&o.hosts, "host", nil, "another `name:port` that browsers may use, for example through a tunnel; may be repeated")
	flags.BoolVar(&o.open, "open", false, "open it in the browser")
	return cmd
}

func (o *viewFlags) view(cmd *cobra.Command, dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("directory %s does not exist (consider: dyno demo, or dyno view DIR)", dir)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory (consider: dyno view %s)", dir, filepath.Dir(dir))
	}
	listener, err := net.Listen("tcp", o.addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("listen at %s: address already in use (consider: --addr 127.0.0.1:0, for a free port)", o.addr)
	}
	if err != nil {
		return fmt.Errorf("listen at %s: %w (want for example --addr 127.0.0.1:8080)", o.addr, err)
	}
	at := listener.Addr().(*net.TCPAddr)
	hosts := hostsOf(at, o.addr)
	resumes := &child.Resumer{Context: cmd.Context()}
	defer resumes.Wait()
	root, err := filepath.Abs(dir) // the list says it, to whom "." would say nothing
	if err != nil {
		return err
	}
	cookie, err := store.Secret(fmt.Sprintf("dyno view %d %s", at.Port, root)) // the same after a restart
	if err != nil {
		cookie = rand.Text()
	}
	site := &web.Site{Root: root, Hosts: append(hosts, o.hosts...), Secret: rand.Text(), Cookie: cookie, Token: rand.Text(), Resume: resumes.Resume}
	address := "http://" + hosts[0] + "/"
	if _, err := os.Stat(filepath.Join(dir, "run.json")); err == nil {
		address += "runs/" + url.PathEscape(filepath.Base(root)) + "/"
	}
	address = site.Address(address)
	fmt.Fprintln(cmd.OutOrStdout(), address)
	if !at.IP.IsLoopback() {
		notef(cmd, "anyone who can read the network traffic sees the pages and the secret (consider: --addr 127.0.0.1:0, and ssh -L)")
	}
	if o.open {
		door, err := doorTo(address, root)
		defer os.Remove(door)
		if err == nil {
			err = openBrowser(door)
		}
		if err != nil {
			notef(cmd, "no browser was opened: %v", err)
		}
	}
	return serveSite(cmd.Context(), listener, site)
}

// serveSite serves until the context ends, which also ends what pages wait for.
func serveSite(ctx context.Context, l net.Listener, site *web.Site) error {
	server := &http.Server{
		Handler: site.Handler(),
		// No time for whole requests and answers: those of live pages have no end,
		// and the site limits the others.
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if server.Shutdown(short) != nil { // somebody reads a big file slowly
		server.Close()
	}
	<-served
	return nil
}

// hostsOf has the names of a listener, the one to print first. A page of another site
// whose name leads here has another.
func hostsOf(at *net.TCPAddr, asked string) (hosts []string) {
	var names []string
	if name, _, err := net.SplitHostPort(asked); err == nil && name != "" && net.ParseIP(name) == nil {
		names = append(names, name)
	}
	all := at.IP.IsUnspecified()
	if !all {
		names = append(names, at.IP.String())
	}
	if all || at.IP.IsLoopback() {
		names = append(names, "127.0.0.1", "localhost", "::1")
	}
	if all {
		name, _ := os.Hostname()
		addrs, _ := net.InterfaceAddrs()
		names = append(names, name)
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok {
				names = append(names, n.IP.String())
			}
		}
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		host := net.JoinHostPort(name, strconv.Itoa(at.Port))
		hosts = append(hosts, host)
		if at.Port == 80 { // which browsers do not say
			hosts = append(hosts, strings.TrimSuffix(host, ":80"))
		}
	}
	return hosts
}

// doorTo makes a file that leads a browser to an address: every user of the machine sees the
// arguments of a program, and the address has a secret. The browser may be one that reads no files
// of /tmp.
func doorTo(address, dir string) (path string, err error) {
	f, err := os.CreateTemp(dir, ".dyno-view-*.html") // which only this user can read
	if err != nil {
		f, err = os.CreateTemp("", "dyno-view-*.html")
	}
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "<!DOCTYPE html><meta http-equiv=refresh content=\"0; url=%s\">\n", html.EscapeString(address))
	return f.Name(), errors.Join(err, f.Close())
}

func openBrowser(file string) error {
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	cmd := exec.Command(command[0], append(command[1:], file)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // it may be the browser itself
	return nil
}
