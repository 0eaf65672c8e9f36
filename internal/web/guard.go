package web

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

const answerTime = 5 * time.Minute // until an answer has gone out; live ones have no end

// policy lets our pages load scripts and styles from here only, none inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// guard sets the headers that keep browsers from doing more than showing an answer, and
// lets through what admit and welcome let in. Handlers may replace the policy.
func (s *Site) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.recover(w, r)
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		err := s.admit(w, r)
		sent := false
		if err == nil {
			sent, err = s.welcome(w, r)
		}
		switch {
		case err != nil:
			s.fail(w, r, err)
		case !sent:
			next.ServeHTTP(w, r)
		}
	})
}

// admit refuses requests that no page may answer, and bounds the others.
func (s *Site) admit(w http.ResponseWriter, r *http.Request) error {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime)) // an error is that of a recorder, which has none
	r.Body = http.MaxBytesReader(w, r.Body, 0)                                 // nothing here reads one
	if !slices.ContainsFunc(s.Hosts, func(h string) bool { return strings.EqualFold(h, r.Host) }) {
		// By that, a page of another site whose name was made to point here would read the runs.
		return refuse(http.StatusMisdirectedRequest, "The request names another host or port than this server was started with (consider: the address that dyno view printed, or dyno view --host).")
	}
	if foreign(r) {
		return refuse(http.StatusForbidden, "A page of another site made this request; only readers may.")
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPost:
		if http.NewCrossOriginProtection().Check(r) != nil || !s.token(r) {
			return refuse(http.StatusForbidden, "The request did not come from a current page of this server (consider: to reload the page).")
		}
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		return refuse(http.StatusMethodNotAllowed, "No page here accepts that method.")
	}
	return nil
}

// foreign reports whether a page of another site asks, other than by a link that a
// reader follows: it could have us read runs all day. pprof's pages and saved reports
// have an origin of their own, and link to pprof's pages, also in a frame.
func foreign(r *http.Request) bool {
	h := r.Header
	if from := h.Get("Sec-Fetch-Site"); from != "cross-site" && from != "same-site" {
		return false // also of a program, and of a browser that does not tell
	}
	if r.Method == http.MethodPost {
		return false // which is looked at more closely
	}
	framed := h.Get("Sec-Fetch-Dest") != "document" && !strings.Contains(r.URL.Path, "/pprof/")
	return h.Get("Sec-Fetch-Mode") != "navigate" || framed
}

// token reports whether a request brings the token.
func (s *Site) token(r *http.Request) bool {
	return same(r.Header.Get("X-Dyno-Token"), s.Token)
}

// recover turns a panic into an answer that tells nothing of it.
func (s *Site) recover(w http.ResponseWriter, r *http.Request) {
	switch p := recover(); {
	case p == nil:
	case p == http.ErrAbortHandler:
		panic(p)
	default:
		slog.Error("a page could not be made", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
		s.fail(w, r, errors.New("The page could not be made: this is a bug in dyno. The log of dyno view has the details."))
	}
}
