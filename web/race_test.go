//go:build race

package web

const race = true // all is many times slower
