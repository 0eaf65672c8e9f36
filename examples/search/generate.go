package main

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// providers are the feeds, by the name of their switch in the form.
var providers = []struct{ name, title string }{
	{"cnn", "CNN"},
	{"bbc", "BBC"},
	{"nyt", "New York Times"},
}

// A description has from shortest to shortest+spread-1 sentences of some
// fifteen words, which is 1 to 2 kB. One item in matches has the word "topic".
const (
	shortest = 10
	spread   = 10
	matches  = 4
)

// vocabulary is what the news consists of.
var vocabulary = strings.Fields(`
	about after agency agreed airport again announced another answer August bank before Berlin
	between border bridge Brussels budget campaign capital central century chair change charge citizen
	city climate coast committee company concern council country court crisis damage dealer debate
	decision defence delay demand deputy despite doctor dollar during early economy election energy
	engineer Europe evening expected factory farmer February figures final fire following foreign forest
	former fund future government growth harbour health higher history hospital hour House inflation
	inquiry interest investor island January journey judge lawyer leader London lower machine majority
	market measure meeting member million minister Monday morning mountain museum national network
	northern November office official opposition parliament party peace people percent petrol player
	police policy power president price prison problem project proposal protest public quarter question
	railway record reform region report research reserve resident result river road rule safety school
	science season secretary senate September series shares signal society southern spokesman
	station storm strike student summer supply support surprise survey system talks teacher team
	Thursday trade traffic train treaty trial tunnel union university village visitor vote water weather
	weekend western winter witness worker world year yesterday young`)

// generate writes the feeds into dir. The same seed gives the same files.
func generate(dir string, seed uint64, items int) error {
	for i, p := range providers {
		f, err := os.Create(filepath.Join(dir, p.name+".xml"))
		if err != nil {
			return err
		}
		w := bufio.NewWriter(f)
		err = writeFeed(w, rand.New(rand.NewPCG(seed, uint64(i))), p.title, items)
		if ferr := w.Flush(); err == nil {
			err = ferr
		}
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return fmt.Errorf("generate feed %s: %w", p.name, err)
		}
	}
	return nil
}

func writeFeed(w io.Writer, rng *rand.Rand, title string, items int) error {
	var doc document
	doc.Version = "2.0"
	doc.Channel.Title = title
	for n := range items {
		doc.Channel.Items = append(doc.Channel.Items, item{
			Title:       strings.TrimSuffix(sentence(rng, 4, 8), "."),
			Link:        fmt.Sprintf("https://news.example/%s/%d?from=rss&n=%08x", strings.ToLower(strings.Fields(title)[0]), n, rng.Uint32()),
			Description: description(rng),
		})
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	return xml.NewEncoder(w).Encode(&doc)
}

func description(rng *rand.Rand) string {
	sentences := make([]string, shortest+rng.IntN(spread))
	for i := range sentences {
		sentences[i] = sentence(rng, 10, 20)
	}
	if rng.IntN(matches) == 0 {
		topic := []string{"Topic", "topic", "TOPIC"}[rng.IntN(3)]
		i := rng.IntN(len(sentences))
		sentences[i] = "The " + topic + ` of "the day": ` + sentences[i]
	}
	return strings.Join(sentences, " ")
}

// sentence returns least to most-1 words, the first with a capital.
func sentence(rng *rand.Rand, least, most int) string {
	words := make([]string, least+rng.IntN(most-least))
	for i := range words {
		words[i] = vocabulary[rng.IntN(len(vocabulary))]
	}
	words[0] = strings.ToUpper(words[0][:1]) + words[0][1:]
	return strings.Join(words, " ") + "."
}
