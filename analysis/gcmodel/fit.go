package gcmodel

// A Model predicts from what was measured. Its zero value knows nothing.
type Model struct {
	windows []Window
}

// Fit makes a model of windows that were measured with the same service and load, at least one. With
// two settings or more it knows what a collection costs beside what the runtime books, by
// the CPU time of requests at different numbers of collections.
func Fit(ws ...Window) *Model { return &Model{windows: ws} }

// Predict predicts a setting from the window that is nearest to it.
func (m *Model) Predict(s Setting) Prediction { return Prediction{Setting: s} }

// Cliff returns the smallest GOMEMLIMIT in bytes under which a GOGC is no spiral, with the live heap
// scaled by a factor; NaN if it is not known.
func (m *Model) Cliff(gogc, live float64) float64 { return 0 }
