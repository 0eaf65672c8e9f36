package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
)

// passwordHash is a stored password: the salt, the cost and the derived key,
// never the password itself. In JSON salt and key are base64.
type passwordHash struct {
	Salt       []byte `json:"salt"`
	Iterations int    `json:"iterations"`
	Key        []byte `json:"key"` // pbkdf2(password, Salt, Iterations)
}

// nobody is the hash that logins of unknown users are checked against, so
// that the time of an answer does not tell which names exist. No password has
// its key.
var nobody = passwordHash{
	Salt:       []byte("no such user"),
	Iterations: 4096,
	Key:        make([]byte, sha256.Size),
}

// matches reports whether password is the one that h was made from. It takes
// the same time whatever the answer.
func (h passwordHash) matches(password string) bool {
	key := pbkdf2([]byte(password), h.Salt, h.Iterations)
	return subtle.ConstantTimeCompare(key, h.Key) == 1
}

// pbkdf2 is PBKDF2-HMAC-SHA-256 (RFC 8018, section 5.2) for a key of one
// block, 32 bytes. The standard library has its own only since Go 1.24, and
// this service is to compile with 1.22.
func pbkdf2(password, salt []byte, iterations int) []byte {
	prf := hmac.New(sha256.New, password)
	prf.Write(salt)
	prf.Write(binary.BigEndian.AppendUint32(nil, 1)) // the number of the block
	u := prf.Sum(nil)
	key := append([]byte(nil), u...)
	for i := 1; i < iterations; i++ {
		prf.Reset()
		prf.Write(u)
		u = prf.Sum(u[:0])
		subtle.XORBytes(key, key, u)
	}
	return key
}
