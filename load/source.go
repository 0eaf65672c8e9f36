// Package load is not for other modules. It has the source of package client,
// for the load program that dyno builds.
package load

import "embed"

// Source is the source of package client.
//
//go:embed client/*.go
var Source embed.FS
