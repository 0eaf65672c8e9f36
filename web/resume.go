package web

type going struct{}
