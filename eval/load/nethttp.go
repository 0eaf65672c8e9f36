//go:build linux

package main

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// nethttp is the generator that a Go programmer would write in five minutes: a
// goroutine per connection around one http.Client. It measures nothing, so its
// cost is net/http's own.
func nethttp(url string, conns int, d time.Duration) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: conns, MaxConnsPerHost: conns}}
	end := time.Now().Add(d)
	errs := make([]error, conns)
	var wg sync.WaitGroup
	for i := range conns {
		wg.Go(func() {
			for time.Now().Before(end) && errs[i] == nil {
				errs[i] = get(client, url)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func get(client *http.Client, url string) error {
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
