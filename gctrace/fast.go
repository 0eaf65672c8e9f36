package gctrace

import "bytes"

// A cursor reads a line of which the form is known. It is the fast way: what
// it does not take may still be a line, as pace.parse reads it.
type cursor struct {
	p   []byte // what is left
	bad bool   // something was not as expected
}

// has takes s if it comes next.
func (c *cursor) has(s string) bool {
	if len(c.p) < len(s) || string(c.p[:len(s)]) != s {
		return false
	}
	c.p = c.p[len(s):]
	return true
}

func (c *cursor) lit(s string) {
	if !c.has(s) {
		c.bad = true
	}
}

// tens are exact as floats, and so are whole numbers of 15 digits: their
// quotient is rounded once, as strconv.ParseFloat's result is.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// num takes a number without sign or exponent.
func (c *cursor) num() float64 {
	p, i, point := c.p, 0, -1
	var x int64
	for ; i < len(p) && i < len(tens); i++ {
		d := p[i] - '0'
		if d <= 9 {
			x = 10*x + int64(d)
			continue
		}
		if p[i] != '.' || point >= 0 || i == 0 {
			break
		}
		point = i
	}
	if i == 0 || i == len(tens) || point == i-1 {
		c.bad = true
		return 0
	}
	c.p = p[i:]
	if point >= 0 {
		return float64(x) / tens[i-1-point]
	}
	return float64(x)
}

// clock takes the wall clock times of the phases and returns how many there
// are: 3, or 5 as Go 1.5 has them.
func (c *cursor) clock(v []float64) int {
	for n := range 5 {
		if n > 0 && !c.has("+") {
			c.bad = c.bad || n != 3
			return n
		}
		v[n] = c.num()
	}
	return 5
}

// cpu takes the CPU times that belong to so many phases; the last but one is
// marking and has three.
func (c *cursor) cpu(v []float64, phases int) int {
	for n := range phases + 2 {
		switch n {
		case 0:
		case phases - 1, phases:
			c.lit("/")
		default:
			c.lit("+")
		}
		v[n] = c.num()
	}
	return phases + 2
}

// fast reads a whole gc line as the runtime prints it.
func (p *pace) fast(line []byte) (Cycle, bool) {
	var v numbers
	c := cursor{p: line}
	c.lit("gc ")
	v[0] = c.num()
	c.lit(" @")
	v[1] = c.num()
	c.lit("s ")
	v[2] = c.num()
	c.lit("%")
	if !c.has(": ") {
		c.lit(" (checking for goroutine leaks): ")
	}
	if c.bad {
		return Cycle{}, false
	}
	n := 3
	clock := c.clock(v[n:])
	n += clock
	c.lit(" ms clock, ")
	n += c.cpu(v[n:], clock)
	c.lit(" ms cpu, ")
	for _, after := range [...]string{"->", "->", " MB, ", " MB goal, "} {
		v[n] = c.num()
		n++
		c.lit(after)
	}
	if c.bad {
		return Cycle{}, false
	}
	last := c.num()
	if clock == 3 && c.has(" MB stacks, ") {
		v[n] = last
		v[n+1] = c.num()
		n += 2
		c.lit(" MB globals, ")
		last = c.num()
	}
	v[n] = last
	n++
	c.lit(" P")
	forced := c.has(" (forced)")
	c.lit("\n")
	if c.bad || len(c.p) > 0 {
		return Cycle{}, false
	}
	return p.cycle(&v, n, forced)
}

// read reads a gc line if it is whole.
func (p *pace) read(line []byte) (Cycle, bool) {
	if !ends(line) {
		return Cycle{}, false
	}
	if c, ok := p.fast(line); ok {
		return c, true
	}
	return p.parse(line)
}

// ends reports whether a line ends as gc lines do.
func ends(line []byte) bool {
	return bytes.HasSuffix(line, []byte("P\n")) || bytes.HasSuffix(line, []byte(forcedMark+"\n"))
}
