package layout

// Options say how a report looks. The zero value is 100 columns without color.
type Options struct {
	Width  int  // of the terminal in characters; 0 means 100, less than 80 counts as 80
	Full   bool // all tables, not one screen
	Lines  int  // of a brief text that is a part of a longer one; 0 means that it is whole, and a screen
	More   bool // such a part comes after another of its kind, which has the heading and the advice
	Strict bool // of JUnit: a threshold that is unclear is a failure
	Color  bool // mark better green and worse red; the words say it anyway
}

// Columns is the width in characters, with its default and least value.
func (o Options) Columns() int {
	if o.Width == 0 {
		return 100
	}
	return max(o.Width, 80)
}
