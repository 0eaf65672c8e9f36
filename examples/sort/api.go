package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
)

// mostSize bounds what one request can take: 8 bytes for each number, and some
// 20 of the answer.
const mostSize = 5_000_000

// routes returns the handler of all paths. As in the study, the runtime is asked
// once a request, between the work and the answer.
func routes(size int, work func(size int) ([]byte, error), call func()) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"status":"ok"}`)
	})
	mux.HandleFunc("GET /sort", func(w http.ResponseWriter, r *http.Request) {
		size := size
		if s := r.URL.Query().Get("size"); s != "" {
			n, err := strconv.Atoi(s)
			if err != nil || n < 1 || n > mostSize {
				http.Error(w, fmt.Sprintf("size=%s: want a number from 1 to %d", s, mostSize), http.StatusBadRequest)
				return
			}
			size = n
		}
		body, err := work(size)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		call()
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	})
	return mux
}

// sortedNumbers returns so many random numbers from [0, 1) in JSON, sorted.
func sortedNumbers(size int) ([]byte, error) {
	numbers := make([]float64, size)
	for i := range numbers {
		numbers[i] = rand.Float64()
	}
	slices.Sort(numbers)
	return json.Marshal(numbers)
}
