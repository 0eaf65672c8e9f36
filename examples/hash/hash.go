package main

import (
	"crypto/sha512"
	"encoding/hex"
	"expvar"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
)

// distinct is how many random numbers there are.
const distinct = 1_000_000

func routes(file string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hash", func(w http.ResponseWriter, _ *http.Request) {
		sum, err := sum(file, rand.IntN(distinct))
		if err != nil {
			slog.Error("hash", "err", err)
			http.Error(w, "the file cannot be hashed", http.StatusInternalServerError)
			return
		}
		io.WriteString(w, sum+"\n")
	})
	mux.Handle("GET /debug/vars", expvar.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	return mux
}

// sum returns the hash of the file's content followed by n in decimal. That the
// file is read whole, and not piece by piece, is what is measured.
func sum(file string, n int) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	h := sha512.New()
	h.Write(data)
	h.Write(strconv.AppendInt(nil, int64(n), 10))
	return hex.EncodeToString(h.Sum(nil)), nil
}
