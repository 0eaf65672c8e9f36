package gctrace

type cursor struct {
	p   []byte // what is left
	bad bool   // something was not as expected
}

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

// tens and whole numbers of 15 digits are exact as floats, so their quotient is rounded once,
// as by strconv.ParseFloat.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

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
