package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// maxDocument is the most bytes a session's document may have. With
// trailLength, maxBody and the store's limit it bounds what the service holds.
const maxDocument = 32 << 10

var (
	errNoSession   = errors.New("no such session")
	errTooMany     = errors.New("too many sessions")
	errDocTooLarge = errors.New("document would become too large")
)

// session is one login. Its document is kept encoded: each patch works on a
// copy, a reader is never disturbed, and the collector has one object to mark
// in place of a tree.
type session struct {
	user *user

	mu       sync.Mutex
	document []byte // JSON object; replaced whole, never written into
	revision int
	trail    trail
	expires  time.Time
}

// patch merges patch into the document and returns the new document, which
// the caller must not write into. The change is recorded as come from remote.
// The error is errDocTooLarge if the document would exceed maxDocument; it has
// then not changed.
func (s *session) patch(patch map[string]any, remote string) ([]byte, error) {
	members := names(patch)
	s.mu.Lock()
	defer s.mu.Unlock()
	object, err := decodeObject(s.document)
	if err != nil {
		return nil, err
	}
	document, err := json.Marshal(merge(object, patch))
	if err != nil {
		return nil, err
	}
	if len(document) > maxDocument {
		return nil, errDocTooLarge
	}
	s.document = document
	s.revision++
	s.trail.add(change{Revision: s.revision, Time: time.Now().UTC(), Remote: remote, Members: members})
	return document, nil
}

// audit returns the last changes, oldest first.
func (s *session) audit() []change {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trail.list()
}

// expired reports whether the session has ended at now.
func (s *session) expired(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !now.Before(s.expires)
}

// use puts off the session's expiry to now + ttl, or reports false if it has
// expired already.
func (s *session) use(now time.Time, ttl time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !now.Before(s.expires) {
		return false
	}
	s.expires = now.Add(ttl)
	return true
}

// store holds the open sessions. A session that was not used for ttl is gone,
// whether or not the janitor has come by.
type store struct {
	limit int
	ttl   time.Duration

	mu       sync.RWMutex // taken before a session's, never while one is held
	sessions map[string]*session
}

func newStore(limit int, ttl time.Duration) *store {
	return &store{limit: limit, ttl: ttl, sessions: make(map[string]*session)}
}

// open starts a session of u with a first document and returns its id, which
// is the only key to it: 128 random bits. The error is errTooMany when the
// store is full.
func (st *store) open(u *user, document []byte) (string, error) {
	var key [16]byte
	if _, err := rand.Read(key[:]); err != nil {
		return "", err
	}
	id := hex.EncodeToString(key[:])
	s := &session{user: u, document: document, expires: time.Now().Add(st.ttl)}
	st.mu.Lock()
	defer st.mu.Unlock()
	if len(st.sessions) >= st.limit {
		return "", errTooMany
	}
	st.sessions[id] = s
	return id, nil
}

// get returns an open session and puts off its expiry, or errNoSession.
func (st *store) get(id string) (*session, error) {
	st.mu.RLock()
	s := st.sessions[id]
	st.mu.RUnlock()
	if s == nil || !s.use(time.Now(), st.ttl) {
		return nil, errNoSession
	}
	return s, nil
}

// close ends a session, or returns errNoSession.
func (st *store) close(id string) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	s := st.sessions[id]
	delete(st.sessions, id)
	if s == nil || s.expired(time.Now()) {
		return errNoSession
	}
	return nil
}

// len returns the number of sessions held, expired ones not yet swept included.
func (st *store) len() int {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return len(st.sessions)
}

// sweep forgets the sessions that have expired at now and returns their number.
func (st *store) sweep(now time.Time) int {
	st.mu.Lock()
	defer st.mu.Unlock()
	n := 0
	for id, s := range st.sessions {
		if s.expired(now) {
			delete(st.sessions, id)
			n++
		}
	}
	return n
}

// janitor sweeps every quarter of ttl until ctx ends.
func (st *store) janitor(ctx context.Context) {
	tick := time.NewTicker(st.ttl / 4)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			if n := st.sweep(now); n > 0 {
				slog.Info("swept", "sessions", n)
			}
		case <-ctx.Done():
			return
		}
	}
}
