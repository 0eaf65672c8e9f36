// Package chain has the messages and stubs of service Hashes, made of chain.proto by protoc 3.21,
// protoc-gen-go 1.36.12 and protoc-gen-go-grpc 1.6.2.
package chain

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative chain.proto
