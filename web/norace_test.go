//go:build !race

package web

const race = false
