package report

// resident is not built yet.
func (v *view) resident() (section, bool) { return section{}, false }
