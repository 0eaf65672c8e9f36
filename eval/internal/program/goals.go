package program

import (
	"errors"
	"fmt"
	"io"
)

// Goals are what dyno's figures are held to.
type Goals struct {
	W       io.Writer
	Width   int // of the column with the goals, in characters
	Met, Of int // goals so far
	blank   int
}

// Judge prints a goal and the figure.
func (g *Goals) Judge(goal, figure string, met bool) {
	word := "missed"
	if met {
		word = "met"
		g.Met++
	}
	g.print(goal, figure, word)
}

// Blank prints a goal whose figure is missing, which does not meet it.
func (g *Goals) Blank(goal string) {
	g.blank++
	g.print(goal, "-", "no figure")
}

func (g *Goals) print(goal, figure, word string) {
	g.Of++
	fmt.Fprintf(g.W, "  goal: %-*s %s  %s\n", g.Width, goal, figure, word)
}

// Conclude prints how many goals were met. With check it is an error that one was not.
func (g *Goals) Conclude(check bool) error {
	fmt.Fprintf(g.W, "\n%s\n", g)
	if check && g.Met < g.Of {
		return errors.New("a goal was missed (-check)")
	}
	return nil
}

func (g *Goals) String() string {
	s := fmt.Sprintf("dyno met %d of %d goals", g.Met, g.Of)
	if g.blank > 0 {
		s += fmt.Sprintf("; %d have no figure", g.blank)
	}
	return s
}
