// Command http3 is a service that speaks HTTP/3, and HTTP/1.1 on the TCP port of the same number.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"log"
	"math/big"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/quic-go/quic-go/http3"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8443", "where to listen")
	flag.Parse()
	if err := run(*addr); err != nil {
		log.Fatal(err)
	}
}

func run(addr string) error {
	cert, err := certificate()
	if err != nil {
		return err
	}
	http.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("GET /bytes/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.PathValue("n"))
		if err != nil || n < 0 || n > 1<<20 {
			http.Error(w, "n must be 0 to 1048576", http.StatusBadRequest)
			return
		}
		w.Write(make([]byte, n))
	})
	quic := &http3.Server{Addr: addr, TLSConfig: http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{cert}})}
	plain := &http.Server{Addr: addr}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { quic.Close(); plain.Close() })
	ended := make(chan error, 2)
	go func() { ended <- quic.ListenAndServe() }()
	go func() { ended <- plain.ListenAndServe() }()
	err = <-ended
	stop()
	<-ended
	if err == http.ErrServerClosed {
		return nil
	}
	return err
}

// certificate is one for a day, signed by itself.
func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	t := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
