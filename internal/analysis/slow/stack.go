package slow

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/exp/trace"

	"github.com/dynolab/dyno/internal/analysis/exectrace"
	"github.com/dynolab/dyno/internal/analysis/own"
)

// A stack is what is known of one.
type stack struct {
	own             int32  // site of the innermost frame of the subject's own, else of another module's, or 0
	other           int32  // of another module's
	root            int32  // site of its outermost function, without a line
	via             string // the innermost function of a library, but for those of below; else call
	call            string // the function of package syscall
	op              string // as Site.Op has it
	serves, handles bool
	awaits          bool // the server's goroutine waits for a request, or reads it
	reads, writes   bool
	complete        bool // it is not cut
	serves2         bool // an HTTP/2 connection, whose requests have goroutines of their own
}

// stack looks at a stack once.
func (w *reader) stack(s trace.Stack) int32 {
	if s == trace.NoStack {
		return 0
	}
	if n, ok := w.of[s]; ok {
		return n
	}
	var text strings.Builder
	var k stack
	var root trace.StackFrame
	frames := 0
	for f := range s.Frames() {
		fmt.Fprintf(&text, "%s:%d\n", f.Func, f.Line)
		frames++
		w.frame(&k, f, root.Func)
		root = f
	}
	n, ok := w.byText[text.String()]
	if !ok {
		k.root = w.site(Site{Func: root.Func})
		k.complete = frames < wholeStack
		if k.own == 0 {
			k.own = k.other
		}
		if k.via == "" {
			k.via = k.call
		}
		k.handles = handler(root.Func, w.prefixes)
		n = int32(len(w.stacks))
		w.byText[text.String()] = n
		w.stacks = append(w.stacks, k)
	}
	w.of[s] = n
	return n
}

// wholeStack is fewer frames than a stack has that lost its root: the runtime cuts those
// deeper than 128.
const wholeStack = 100

// handler reports whether a goroutine that is started with a function has one request as its life.
func handler(root string, prefixes []string) bool {
	return strings.HasSuffix(root, "erverConn).runHandler") || // net/http.(*http2serverConn), x/net/http2.(*serverConn)
		strings.HasPrefix(root, "google.golang.org/grpc.(*Server).serveStreams.func") ||
		slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(root, p) })
}

// frame looks at a frame, which called the function inner. What TLS's handshake reads and writes is of no request.
func (w *reader) frame(k *stack, f trace.StackFrame, inner string) {
	switch f.Func {
	case "net/http.(*conn).serve":
		k.serves = true
		k.awaits = inner == "net/http.(*conn).readRequest" || inner == "bufio.(*Reader).Peek"
	case "crypto/tls.(*Conn).HandshakeContext":
		k.reads, k.writes = false, false
	case "internal/poll.(*FD).Read":
		k.reads = true
	case "internal/poll.(*FD).Write", "internal/poll.(*FD).Writev", "internal/poll.SendFile", "internal/poll.Splice":
		k.writes = true
	}
	if strings.HasSuffix(f.Func, "erverConn).serve") {
		k.serves2 = true
	}
	if strings.HasPrefix(f.Func, "main.") {
		w.module = own.Module(f.File)
	}
	if strings.HasPrefix(f.Func, "main.dynoProbe") || strings.HasPrefix(f.Func, "main.(*dynoProbe") {
		return
	}
	if strings.Contains(f.Func, "._Cfunc_") { // C code, in a file that cgo made
		if k.own == 0 {
			k.call = f.Func
		}
		return
	}
	if k.own == 0 && k.op == "" {
		k.op = operations[f.Func]
	}
	pkg := own.Package(f.Func)
	switch {
	case k.own != 0:
	case Pool(f.Func): // whatever that waits in
		k.via = f.Func
	case pkg == "syscall":
		k.call = f.Func
	case k.via == "" && !below(pkg) && !own.Is(pkg, f.File, w.module):
		k.via = f.Func
	}
	switch {
	case k.own == 0 && own.Is(pkg, f.File, w.module):
		k.own = w.site(Site{Func: f.Func, File: f.File, Line: int(f.Line)})
	case k.own == 0 && k.other == 0 && !own.IsStandard(pkg, f.File):
		k.other = w.site(Site{Func: f.Func, File: f.File, Line: int(f.Line)})
	}
}

// operations are the functions in which goroutines wait.
var operations = map[string]string{
	"runtime.chansend1": Send, "runtime.chanrecv1": Receive, "runtime.chanrecv2": Receive, "runtime.selectgo": Select,
	"sync.(*WaitGroup).Wait": WaitGroup, "sync.(*Cond).Wait": WaitCond,
}

// Pool reports whether a function waits for a connection of a pool: it is its only reason to wait for another goroutine.
func Pool(fn string) bool {
	switch fn {
	case "database/sql.(*DB).conn", "net/http.(*Transport).getConn":
		return true
	}
	return strings.HasSuffix(fn, "/pgxpool.(*Pool).Acquire") || strings.HasSuffix(fn, "/internal/pool.(*ConnPool).waitTurn") // of go-redis
}

// below reports whether a package is one whose functions say no more than that a goroutine waits.
func below(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	switch first {
	case "runtime", "internal", "sync", "syscall", "time":
		return true
	}
	return false
}

// at is the line of a stack that did something.
func (t *Trace) at(stack int32, part Part) Site {
	s := t.sites[t.stacks[stack].own]
	if via := t.stacks[stack].via; s.Line > 0 && via != s.Func && (part.Waits() || part == exectrace.Syscall) {
		s.Via = via
	}
	if part == exectrace.Channels || part == exectrace.Locking {
		s.Op = t.stacks[stack].op
	}
	return s
}

func (w *reader) site(s Site) int32 {
	n, ok := w.bySite[s]
	if !ok {
		n = int32(len(w.sites))
		w.sites = append(w.sites, s)
		w.bySite[s] = n
	}
	return n
}
