package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// mostTasks is of one request.
const mostTasks = 1_000_000

// routes returns the handler of all paths that the mode has.
func routes(o options) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		answer(w, `{"status":"ok"}`)
	})
	switch o.mode {
	case "run":
		mux.HandleFunc("GET /run", o.serveRun)
	case "tasks":
		// One request at a time has a pool, so that there are never more
		// threads than were found to have room.
		mux.HandleFunc("GET /tasks", o.serveTasks(make(chan struct{}, 1)))
	}
	return mux
}

func (o options) serveRun(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	n, err := number(q, "n", 30, mostStrings)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	length, err := number(q, "len", 10, mostLen)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	strings, bytes := 0, 0
	for s := range start(r.Context(), source(n, length), variants[o.variant], o.workers) {
		strings, bytes = strings+1, bytes+len(s)
	}
	if r.Context().Err() != nil {
		return // the client has gone
	}
	answer(w, fmt.Sprintf(`{"strings":%d,"bytes":%d}`, strings, bytes))
}

func (o options) serveTasks(turn chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n, err := number(r.URL.Query(), "n", 200_000, mostTasks)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		select {
		case turn <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		defer func() { <-turn }()
		sum, err := runTasks(r.Context(), n, o.pool, o.kind == "threads")
		if err != nil {
			return // the client has gone
		}
		answer(w, fmt.Sprintf(`{"tasks":%d,"workers":%d,"sum":%d}`, n, o.pool, sum))
	}
}

// number returns the number called name of a query, from 1 to most.
func number(q url.Values, name string, unless, most int) (int, error) {
	if !q.Has(name) {
		return unless, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%s=%s: want a number from 1 to %d", name, q.Get(name), most)
	}
	return n, nil
}

func answer(w http.ResponseWriter, json string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintln(w, json)
}
