package web

type followers struct{}
