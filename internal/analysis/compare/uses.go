package compare

import "slices"

// A Use says that a server, or the subject, asks another one: From is "" for the subject.
type Use struct{ From, To string }

// A Node is one of a tree of uses.
type Node struct {
	Name string // "" is the subject
	Stem string // what a text draws before it
}

// Tree lists the subject and its needs in the order in which a text draws them: each need once, below the first that uses
// it.
func Tree(uses []Use) (nodes []Node) {
	if len(uses) == 0 {
		return nil
	}
	seen := map[string]bool{"": true}
	var below func(name, stem string)
	below = func(name, stem string) {
		var children []string
		for _, u := range uses {
			if u.From == name && !seen[u.To] {
				seen[u.To] = true
				children = append(children, u.To)
			}
		}
		slices.Sort(children)
		for i, child := range children {
			branch, trunk := "├─ ", "│  "
			if i == len(children)-1 {
				branch, trunk = "└─ ", "   "
			}
			nodes = append(nodes, Node{child, stem + branch})
			below(child, stem+trunk)
		}
	}
	nodes = append(nodes, Node{})
	below("", "")
	return nodes
}
