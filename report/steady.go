package report

// steady is not built yet.
func (v *view) steady() (section, bool) { return section{}, false }
