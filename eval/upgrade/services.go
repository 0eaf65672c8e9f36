//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// A kind is a service that is made of one thing, two versions of Go, and the default that changes it; "" if none does.
type kind struct {
	from, to string
	cause    string
	imports  string
	setup    string // before the service listens
	request  string // what one request does
}

var kinds = map[string]kind{
	"none": {"1.26.8", "1.27.4", "", `"crypto/sha256"`, ``, `
		sum := sha256.Sum256([]byte(r.URL.Path))
		for range 3000 {
			sum = sha256.Sum256(sum[:])
		}
		w.Write(sum[:4])`},
	"json": {"1.26.8", "1.27.4", "jsonv2", `"encoding/json"`, `
	type item struct {
		ID    int            ` + "`json:\"id\"`" + `
		Name  string         ` + "`json:\"name\"`" + `
		Tags  []string       ` + "`json:\"tags\"`" + `
		Attrs map[string]any ` + "`json:\"attrs\"`" + `
	}
	var all []item
	for i := range 40 {
		all = append(all, item{i, "a name", []string{"a", "b", "c"}, map[string]any{"x": 1.5, "y": "z", "l": []any{1.0, 2.0}}})
	}
	text, _ := json.Marshal(all)`, `
		var got []item
		for range 4 {
			got = nil
			if err := json.Unmarshal(text, &got); err != nil {
				http.Error(w, err.Error(), 500)
			}
		}
		w.Write([]byte(got[0].Name))`},
	"malloc": {"1.26.8", "1.27.4", "sizespecializedmalloc", ``, `
	type node struct{ a, b, c, d, e, f int }
	sinks := make([]*node, 4096)`, `
		for i := range 20_000 {
			sinks[i%len(sinks)] = &node{a: i}
		}
		w.Write([]byte("x"))`},
	"heap": {"1.25.9", "1.26.8", "greenteagc", ``, `
	type node struct{ left, right *node }
	var grow func(depth int) *node
	grow = func(depth int) *node {
		if depth == 0 {
			return &node{}
		}
		return &node{grow(depth - 1), grow(depth - 1)}
	}
	kept := make([]*node, 64)
	for i := range kept {
		kept[i] = grow(12)
	}`, `
		kept[rand.IntN(len(kept))] = grow(12)
		w.Write([]byte("x"))`},
	"tls": {"1.23.12", "1.24.13", "tlsmlkem", `"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"`, `
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	cert, _ := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)}, &x509.Certificate{SerialNumber: big.NewInt(1)}, &key.PublicKey, key)
	server := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}}, SessionTicketsDisabled: true}`, `
		a, b := net.Pipe()
		s, c := tls.Server(a, server), tls.Client(b, &tls.Config{InsecureSkipVerify: true})
		done := make(chan error, 1)
		go func() { done <- s.Handshake() }()
		err := c.Handshake()
		if err == nil {
			err = <-done
		}
		a.Close()
		b.Close()
		if err != nil {
			http.Error(w, err.Error(), 500)
		}`},
}

// make writes the module of a service.
func (k kind) make(dir string) error {
	imports := k.imports
	if k.cause == "greenteagc" {
		imports = `"math/rand/v2"`
	}
	main := fmt.Sprintf(`package main

import (
	%s
	"net/http"
	"os"
)

func main() {%s
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {%s
	})
	http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil)
}
`, imports, k.setup, k.request)
	return errors.Join(
		os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "main.go"), []byte(main), 0o600),
		os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.org/service\n\ngo "+k.from+"\n"), 0o600),
	)
}
