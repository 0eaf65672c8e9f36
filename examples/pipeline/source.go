package main

import "math/rand/v2"

// text is what the pipeline's strings are cut from: letters of both cases, the
// same ones in every process.
var text = letters(mostLen + 4096)

// The most that a request may ask for.
const (
	mostStrings = 100_000
	mostLen     = 10_000
)

func letters(n int) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	rng := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return string(b)
}

// source returns n strings of length letters. It allocates the slice alone, so
// that what a profile shows is the pipeline's own.
func source(n, length int) []string {
	list := make([]string, n)
	for i := range list {
		from := i * 7 % (len(text) - length)
		list[i] = text[from : from+length]
	}
	return list
}
