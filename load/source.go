package load

import "embed"

// Source is package client with what it imports, which is the standard library beside it: for programs
// that dyno itself builds.
//
//go:embed client/*.go internal/*/*.go
var Source embed.FS
