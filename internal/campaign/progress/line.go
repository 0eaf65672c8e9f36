// Package progress shows the progress of a command on standard error.
//
// The rules of the terminal: results go to stdout, all else to stderr. On a
// terminal one line of progress is redrawn four times a second and erased
// before anything else is printed; without one, each finished trial is a line.
// Nothing is coloured when NO_COLOR is set or TERM is dumb.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

const redrawEvery = 250 * time.Millisecond

// Terminal returns the width of the terminal w, or 0, and whether to use colour.
func Terminal(w io.Writer) (width int, color bool) {
	f := FileOf(w)
	if f == nil || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, _ = term.GetSize(int(f.Fd())) // 0 on an error
	return width, os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// A Line is redrawn in place on a terminal. What is printed meanwhile goes through it.
type Line struct {
	w       io.Writer
	width   int // 0: no terminal
	stop    chan struct{}
	drawing sync.WaitGroup
	mu      sync.Mutex // held by whoever writes to w or changes what is drawn
}

// Open draws a line over and over until Close. Without a terminal it prints one every
// so often, or none for 0. line is called with mu held.
func (l *Line) Open(w io.Writer, every time.Duration, line func(now time.Time) string) {
	l.w, l.stop = w, make(chan struct{})
	if width, _ := Terminal(w); width > 0 && os.Getenv("TERM") != "dumb" {
		l.width, every = width, redrawEvery
	}
	if every == 0 {
		return
	}
	l.drawing.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-l.stop:
				return
			case now := <-tick.C:
				l.mu.Lock()
				switch text := line(now); {
				case l.width > 0:
					fmt.Fprintf(l.w, "\r\x1b[K%s", narrowed(text, l.width))
				case text != "":
					fmt.Fprintln(l.w, text)
				}
				l.mu.Unlock()
			}
		}
	})
}

// sayEvery is without a terminal.
const sayEvery = 10 * time.Second

// Reading is seen while millions of requests are read, which takes seconds.
func Reading(w io.Writer) *Line {
	l := new(Line)
	l.Open(w, sayEvery, func(time.Time) string { return "reading the results, for the report ..." })
	return l
}

// narrowed leaves out parts that do not fit: half a number is a wrong one.
func narrowed(line string, width int) string {
	for utf8.RuneCountInString(line) >= width {
		i := strings.LastIndex(line, " · ")
		if i < 0 {
			return string([]rune(line)[:width-1])
		}
		line = line[:i]
	}
	return line
}

// erase makes room for what is to stay. mu is held, or nothing is drawn any more.
func (l *Line) erase() {
	if l.width > 0 {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
}

// Say prints a line that stays.
func (l *Line) Say(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say(fmt.Sprintf(format, args...))
}

// Note is Say of what the user may wonder about.
func (l *Line) Note(format string, args ...any) { l.Say("note: "+format, args...) }

// say is Say for who holds mu.
func (l *Line) say(text string) {
	l.erase()
	fmt.Fprintln(l.w, text)
}

// Close erases the line.
func (l *Line) Close() {
	close(l.stop)
	l.drawing.Wait()
	l.erase()
}
