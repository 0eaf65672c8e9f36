package wire

import (
	"bytes"
	"crypto/ed25519"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// A Key authenticates both sides of a connection, TLS 1.3. With a token, both derive the same pair of keys
// from it, and each accepts that pair alone: who does not know the token is neither an agent nor a
// coordinator, and reads nothing.
type Key struct {
	own  tls.Certificate
	peer ed25519.PublicKey // that is accepted; nil means any
}

// leastToken is the least length of a token: who guesses can try tokens without asking anybody.
const leastToken = 16

// rounds make each guess cost some 100 ms (OWASP, Password Storage Cheat Sheet).
const rounds = 600_000

// TokenName is the environment variable with the token that agents and their coordinator share.
const TokenName = "DYNO_TOKEN"

// TokenKey is the key of both sides that know a token.
func TokenKey(token string) (*Key, error) {
	if len(token) < leastToken {
		return nil, fmt.Errorf("a token of %d characters is too short (want at least %d; consider: openssl rand -hex 16)", len(token), leastToken)
	}
	seed, err := pbkdf2.Key(sha256.New, token, []byte("dyno agent"), rounds, ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	private := ed25519.NewKeyFromSeed(seed)
	own, err := certificate(private)
	return &Key{own, private.Public().(ed25519.PublicKey)}, err
}

// NewKey makes a key that accepts any other side, until it is told which: Trusting.
func NewKey() (*Key, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	own, err := certificate(private)
	return &Key{own: own}, err
}

// Public is the public key, for Trusting. It is no secret.
func (k *Key) Public() string {
	return base64.RawURLEncoding.EncodeToString(k.own.PrivateKey.(ed25519.PrivateKey).Public().(ed25519.PublicKey))
}

// Trusting is the same key, which accepts one other side alone, by its public key.
func (k *Key) Trusting(public string) (*Key, error) {
	peer, err := base64.RawURLEncoding.DecodeString(public)
	if err != nil || len(peer) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("bad public key %q", public)
	}
	return &Key{k.own, peer}, nil
}

func certificate(private ed25519.PrivateKey) (tls.Certificate, error) {
	// The time is constant, since all who derive the key must get the same certificate. Nothing checks it.
	t := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0)}
	der, err := x509.CreateCertificate(rand.Reader, t, t, private.Public(), private)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, err
}

func (k *Key) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{k.own},
		InsecureSkipVerify: true, // no authority signs these: verify looks at the key itself
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			return k.verify(raw)
		},
	}
}

var errStranger = errors.New("the other side has another key: it does not know the token, or is not who it should be")

func (k *Key) verify(raw [][]byte) error {
	if k.peer == nil {
		return nil
	}
	if len(raw) == 0 {
		return errStranger
	}
	cert, err := x509.ParseCertificate(raw[0])
	if err != nil {
		return errStranger
	}
	if public, ok := cert.PublicKey.(ed25519.PublicKey); !ok || !bytes.Equal(public, k.peer) {
		return errStranger
	}
	return nil
}

// Listen listens as an agent.
func (k *Key) Listen(addr string) (net.Listener, error) {
	c := k.config()
	c.ClientAuth = tls.RequireAnyClientCert
	return tls.Listen("tcp", addr, c)
}
