package main

import "strings"

// A result is an item that was found.
type result struct {
	Engine, Title, Link, Content string
}

// search returns the items whose description contains term, in upper or lower
// case. If copying is true it has the text of each item in lower case made anew,
// which are the allocations that this service is about; else the feed must have
// been lowered when it was read.
func (f *feed) search(term string, copying bool) []result {
	var found []result
	lowered := strings.ToLower(term)
	for i := range f.items {
		it := &f.items[i]
		if copying {
			if !strings.Contains(strings.ToLower(it.Description), strings.ToLower(term)) {
				continue
			}
		} else if !strings.Contains(it.lowered, lowered) {
			continue
		}
		found = append(found, result{f.engine, it.Title, it.Link, it.Description})
	}
	return found
}
