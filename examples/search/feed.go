package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// document is what of RSS 2.0 is written and read here.
type document struct {
	XMLName struct{} `xml:"rss"`
	Version string   `xml:"version,attr"`
	Channel struct {
		Title string `xml:"title"`
		Items []item `xml:"item"`
	} `xml:"channel"`
}

type item struct {
	Title       string `xml:"title"`
	Link        string `xml:"link"`
	Description string `xml:"description"`

	lowered string // the description, if the feed was lowered when it was read
}

// A feed is one provider's, as it is in the cache. It does not change.
type feed struct {
	engine string
	items  []item
}

// read parses the feed in a file.
func read(file, engine string, lower bool) (*feed, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var doc document
	if err := xml.NewDecoder(f).Decode(&doc); err != nil {
		return nil, fmt.Errorf("read feed %s: %w", file, err)
	}
	items := doc.Channel.Items
	if lower {
		for i := range items {
			items[i].lowered = strings.ToLower(items[i].Description)
		}
	}
	return &feed{engine, items}, nil
}

// A source holds the feed of one provider for as long as ttl.
type source struct {
	read func() (*feed, error)
	ttl  time.Duration

	mu      sync.Mutex
	feed    *feed
	expires time.Time
}

// get returns the feed, which it reads if there is none or an old one. Who
// comes meanwhile waits.
func (s *source) get() (*feed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.feed != nil && time.Now().Before(s.expires) {
		return s.feed, nil
	}
	f, err := s.read()
	if err != nil {
		return nil, err
	}
	s.feed, s.expires = f, time.Now().Add(s.ttl)
	return f, nil
}
