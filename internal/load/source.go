package load

import "embed"

// Source is what package client and the program for gRPC import of dyno.
//
//go:embed cause/*.go cpu/*.go frames/*.go pace/*.go rpc/*.go texts/*.go
var Source embed.FS
