package main

import "time"

// trailLength is how many changes of a session's document are remembered.
const trailLength = 32

// change is one entry of a session's audit trail.
type change struct {
	Revision int       `json:"revision"` // of the document after the change; the first is 1
	Time     time.Time `json:"time"`
	Remote   string    `json:"remote"`  // address that the request came from
	Members  []string  `json:"members"` // top-level members that the patch named, sorted
}

// trail is the last trailLength changes. The zero value is empty.
type trail struct {
	ring []change
	next int // where the next change goes once the ring is full: the oldest
}

func (t *trail) add(c change) {
	if len(t.ring) < trailLength {
		t.ring = append(t.ring, c)
		return
	}
	t.ring[t.next] = c
	t.next = (t.next + 1) % trailLength
}

// list returns a copy of the changes, oldest first; never nil.
func (t *trail) list() []change {
	list := make([]change, 0, len(t.ring))
	list = append(list, t.ring[t.next:]...)
	return append(list, t.ring[:t.next]...)
}
