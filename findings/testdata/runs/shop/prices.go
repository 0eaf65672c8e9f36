package main

import (
	"encoding/json"
	"strconv"
)

// A Price is what an article costs.
type Price struct {
	Article string
	Cents   int
}

// Prices returns the prices of n articles, in JSON.
func Prices(n int) []byte {
	list := make([]Price, 0)
	for i := range n {
		list = append(list, Price{Article: "article " + strconv.Itoa(i), Cents: 100 + i})
	}
	body, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return body
}

// Lines returns the same, a line for each article.
func Lines(n int) []byte {
	var body []byte
	for i := range n {
		body = append(body, "article "...)
		body = strconv.AppendInt(body, int64(i), 10)
		body = append(body, ' ')
		body = strconv.AppendInt(body, int64(100+i), 10)
		body = append(body, '\n')
	}
	return body
}
