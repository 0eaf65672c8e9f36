package main

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
)

// maxBody is the most bytes of a request's body.
const maxBody = 16 << 10

// problem is an error that a client is told of, with an HTTP status.
// Any other error is ours: it is logged, and the client learns only "500".
type problem struct {
	status  int
	message string
}

func (p *problem) Error() string { return p.message }

// api is the HTTP interface of the service.
type api struct {
	users    *directory
	sessions *store
}

func newAPI(users *directory, sessions *store) *api {
	return &api{users: users, sessions: sessions}
}

// routes returns the handler of all paths. Those without a method, and "/",
// are there so that 405 and 404 are JSON too.
func (a *api) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", endpoint(a.health))
	mux.Handle("POST /sessions", endpoint(a.login))
	mux.Handle("PATCH /sessions/{id}", endpoint(a.patch))
	mux.Handle("DELETE /sessions/{id}", endpoint(a.logout))
	mux.Handle("GET /sessions/{id}/audit", endpoint(a.audit))

	mux.Handle("/healthz", allow("GET, HEAD"))
	mux.Handle("/sessions", allow("POST"))
	mux.Handle("/sessions/{id}", allow("PATCH, DELETE"))
	mux.Handle("/sessions/{id}/audit", allow("GET, HEAD"))
	mux.Handle("/", endpoint(func(http.ResponseWriter, *http.Request) error {
		return &problem{http.StatusNotFound, "no such path"}
	}))
	return http.MaxBytesHandler(mux, maxBody)
}

func (a *api) health(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, http.StatusOK, map[string]any{
		"status":   "ok",
		"users":    a.users.len(),
		"sessions": a.sessions.len(),
	})
}

func (a *api) login(w http.ResponseWriter, r *http.Request) error {
	body, err := readJSON(r)
	if err != nil {
		return err
	}
	var credentials struct{ User, Password string }
	if err := json.Unmarshal(body, &credentials); err != nil {
		return &problem{http.StatusBadRequest, "read credentials: " + err.Error()}
	}
	u, ok := a.users.authenticate(credentials.User, credentials.Password)
	if !ok {
		return &problem{http.StatusUnauthorized, "wrong user or password"}
	}
	document, err := json.Marshal(map[string]any{"user": u})
	if err != nil {
		return err
	}
	id, err := a.sessions.open(u, document)
	if errors.Is(err, errTooMany) {
		return &problem{http.StatusServiceUnavailable, err.Error()}
	} else if err != nil {
		return err
	}
	w.Header().Set("Location", "/sessions/"+id)
	return writeJSON(w, http.StatusCreated, map[string]string{"id": id})
}

func (a *api) patch(w http.ResponseWriter, r *http.Request) error {
	s, err := a.session(r)
	if err != nil {
		return err
	}
	if !s.user.may("session:update") {
		return &problem{http.StatusForbidden, "user may not change sessions"}
	}
	body, err := readJSON(r)
	if err != nil {
		return err
	}
	patch, err := decodeObject(body)
	if err != nil {
		return &problem{http.StatusBadRequest, "read patch: " + err.Error()}
	}
	document, err := s.patch(patch, r.RemoteAddr)
	if errors.Is(err, errDocTooLarge) {
		return &problem{http.StatusUnprocessableEntity, err.Error()}
	} else if err != nil {
		return err
	}
	write(w, http.StatusOK, document)
	return nil
}

func (a *api) audit(w http.ResponseWriter, r *http.Request) error {
	s, err := a.session(r)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s.audit())
}

func (a *api) logout(w http.ResponseWriter, r *http.Request) error {
	if err := a.sessions.close(r.PathValue("id")); err != nil {
		return &problem{http.StatusNotFound, err.Error()}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// session returns the session that the path names.
func (a *api) session(r *http.Request) (*session, error) {
	s, err := a.sessions.get(r.PathValue("id"))
	if err != nil {
		return nil, &problem{http.StatusNotFound, err.Error()}
	}
	return s, nil
}

// endpoint is a handler that returns its error in place of writing it.
type endpoint func(http.ResponseWriter, *http.Request) error

func (e endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := e(w, r)
	if err == nil {
		return
	}
	var p *problem
	if !errors.As(err, &p) {
		slog.Error("request failed", "method", r.Method, "path", r.URL.Path, "err", err)
		p = &problem{http.StatusInternalServerError, "internal error"}
	}
	writeJSON(w, p.status, map[string]string{"error": p.message})
}

// allow answers the methods that a path does not have.
func allow(methods string) http.Handler {
	return endpoint(func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Allow", methods)
		return &problem{http.StatusMethodNotAllowed, r.Method + " is not allowed here"}
	})
}

// readJSON returns the body of a request that says it is JSON or says nothing.
func readJSON(r *http.Request) ([]byte, error) {
	if t := r.Header.Get("Content-Type"); t != "" {
		switch media, _, _ := mime.ParseMediaType(t); media {
		case "application/json", "application/merge-patch+json":
		default:
			return nil, &problem{http.StatusUnsupportedMediaType, "want application/json, have " + t}
		}
	}
	body, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, &problem{http.StatusRequestEntityTooLarge, "body exceeds " + strconv.FormatInt(tooLarge.Limit, 10) + " bytes"}
	} else if err != nil {
		return nil, &problem{http.StatusBadRequest, "read body: " + err.Error()}
	}
	return body, nil
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	write(w, status, body)
	return nil
}

// write sends a body of JSON. That a client has gone away is not our error.
func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}
