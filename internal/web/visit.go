package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"slices"
	"strings"
)

// secretParam is what the address of a first visit has beside a page's own.
const secretParam = "secret"

// Address is a page's address for a first visit.
func (s *Site) Address(page string) string { return page + "?" + secretParam + "=" + s.Secret }

// welcome lets in who brings the secret, or came by it before, and nobody else: every user of a
// machine reaches its ports. As with Jupyter, the answer to the secret is a cookie, and leads on to
// the same page without it, so that addresses can be passed on and histories do not have it.
//
// Note: browsers send the cookie to every port of the host. Who leads the user to a server on
// another port of this machine gets it.
func (s *Site) welcome(w http.ResponseWriter, r *http.Request) (sent bool, err error) {
	q := r.URL.Query()
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	known := slices.ContainsFunc(r.CookiesNamed(cookieName(r)), func(c *http.Cookie) bool { return same(c.Value, s.Cookie) })
	switch {
	case reads && q.Has(secretParam) && (known || same(q.Get(secretParam), s.Secret)):
		http.SetCookie(w, &http.Cookie{Name: cookieName(r), Value: s.Cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
		q.Del(secretParam)
		page := *r.URL
		page.RawQuery = q.Encode()
		w.Header().Set("Location", "/"+strings.TrimLeft(page.RequestURI(), "/")) // two slashes would lead to another site
		w.WriteHeader(http.StatusSeeOther)
		return true, nil
	case known, strings.HasPrefix(r.URL.Path, "/assets/"), reads && s.passes(r.URL.Path):
		return false, nil
	}
	return false, refuse(http.StatusForbidden, "The address lacks the secret that dyno view printed, and this browser has not been here before (consider: the whole address).")
}

// cookieName differs from port to port, as browsers tell the servers of a host not apart.
func cookieName(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "dyno-view-" + port
}

// same compares in a time that does not tell how much of got is right. "" is nobody's secret.
func same(got, want string) bool {
	return want != "" && subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}

// pass is a part of the addresses of pprof's pages, instead of the cookie: they have an origin of
// their own, so a browser sends none for what their links in a frame ask.
func (s *Site) pass() string {
	h := hmac.New(sha256.New, []byte(s.Cookie))
	h.Write([]byte("pprof"))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// passes reports whether an address of a run has the pass.
func (s *Site) passes(path string) bool {
	parts := strings.Split(path, "/")
	return len(parts) > 1 && parts[1] == "runs" && s.Cookie != "" && slices.ContainsFunc(parts, func(p string) bool { return same(p, s.pass()) })
}
