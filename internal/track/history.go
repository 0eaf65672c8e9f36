package track

import "slices"

// Trees are the contents of commits, by their hashes. Commits of one content are one program, whatever the history around them was rewritten to.
type trees map[string]string

// content is the same for all commits of one content. A commit whose tree is not known is one of its own.
func (t trees) content(commit string) string {
	if tree := t[commit]; tree != "" {
		return tree
	}
	return commit
}

// A history is the commits that a line is put on, the oldest first.
type history struct {
	commits []Commit
	trees   trees             // also of commits that are no longer in it
	titles  map[string]string // of the same commits
	byID    map[string]int
	byTree  map[string][]int // ascending: a commit that takes back another one has the tree of before
}

func (l *Log) history(commits []Commit) *history {
	h := &history{commits: commits, trees: trees{}, titles: map[string]string{}, byID: map[string]int{}, byTree: map[string][]int{}}
	add := func(commit, tree, title string) {
		if commit != "" && tree != "" {
			h.trees[commit] = tree
		}
		if commit != "" && title != "" {
			h.titles[commit] = title
		}
	}
	for _, s := range l.Starts {
		add(s.Anchor, s.Tree, "")
	}
	for _, p := range l.Points {
		add(p.Commit, p.Tree, p.Title)
		add(p.Before, p.BeforeTree, "")
	}
	for _, a := range l.Alarms {
		add(a.From, a.FromTree, "")
		add(a.To, a.ToTree, "")
		add(a.Commit, a.Tree, a.Title)
	}
	for i, c := range commits {
		add(c.ID, c.Tree, c.Title)
		h.byID[c.ID] = i
		if c.Tree != "" {
			h.byTree[c.Tree] = append(h.byTree[c.Tree], i)
		}
	}
	return h
}

// all are the indexes of a commit: its own, or after a rewrite those of all with the same content.
func (h *history) all(commit string) []int {
	if at, ok := h.byID[commit]; ok {
		return []int{at}
	}
	return h.byTree[h.trees[commit]]
}

// find is the index of a commit; after a rewrite of the last one with the same content, and with the same title if there is one.
func (h *history) find(commit string) (at int, ok bool) { return h.findBefore(commit, len(h.commits)) }

// findBefore finds a commit before an index.
func (h *history) findBefore(commit string, limit int) (at int, ok bool) {
	title := h.titles[commit]
	for _, i := range slices.Backward(h.all(commit)) {
		if i >= limit || ok && h.commits[i].Title != title {
			continue
		}
		if at, ok = i, true; title == "" || h.commits[i].Title == title {
			break
		}
	}
	return at, ok
}

// anchors are all commits that others were measured against.
func (l *Log) anchors() (all []string) {
	for _, s := range l.Starts {
		all = with(all, s.Anchor)
	}
	for _, p := range l.Points {
		all = with(all, p.Anchor)
	}
	return all
}

// root is the anchor whose level is 0: the first that something was measured against.
func (l *Log) root() string {
	for _, p := range l.Points {
		if len(p.Logs) > 0 {
			return p.Anchor
		}
	}
	return l.Start.Anchor
}

// A Change is a shown alarm in the history that a line is on.
type Change struct {
	Alarm
	First, Last int  // indexes in the history: it is after First, and at Last at the latest
	Named       bool // Commit is in the history
}

// Change finds an alarm in the history, with the hashes that its commits have there. ok is false if it is not in it: the history has neither what
// the alarm is about, nor the commit that it came with.
func (line *Line) Change(a *Alarm) (c Change, ok bool) {
	c.Alarm = *a
	here := func(id *string, limit int) (int, bool) {
		at, ok := line.history.findBefore(*id, limit)
		if ok {
			*id = line.history.commits[at].ID
		}
		return at, ok
	}
	all := len(line.history.commits)
	last, ended := here(&c.To, all)
	if at, ok := here(&c.Commit, all); ok {
		last, ended, c.Named = at, true, true
	}
	first, begun := here(&c.From, last)
	c.First, c.Last = first, last
	return c, a.Shown && a.Metric == line.Metric && begun && ended
}

// Base is the commit whose level is 0, with the hash that it has in the history, if it is there.
func (line *Line) Base() string {
	if at, ok := line.history.find(line.base); ok {
		return line.history.commits[at].ID
	}
	return line.base
}
