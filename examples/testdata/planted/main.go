// Planted is a small shop whose stock is asked for. With -plant it has one of
// three regressions that code reviews miss; dyno must find which, and where.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

type item struct {
	ID    int      `json:"id"`
	Name  string   `json:"name"`
	Tags  []string `json:"tags"`
	Price float64  `json:"price"`
	Stock int      `json:"stock"`
}

type shop struct {
	plant string
	items []item

	mu    sync.Mutex
	asked map[int]int
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	plant := flag.String("plant", "none", "none, allocation, mutex or json")
	flag.Parse()
	s := &shop{plant: *plant, asked: map[int]int{}}
	for i := range 200 {
		s.items = append(s.items, item{i, "item " + strconv.Itoa(i), []string{"new", "blue", "wool"}, 9.5 + float64(i), i % 7})
	}
	http.HandleFunc("GET /items", s.list)
	log.Fatal(http.ListenAndServe(*addr, nil))
}

func (s *shop) list(w http.ResponseWriter, r *http.Request) {
	page, _ := strconv.Atoi(r.FormValue("page"))
	at := page * 20 % len(s.items)
	items := s.items[at : at+20]
	s.count(page)
	w.Header().Set("Label", s.label(items))
	w.Write(s.render(items))
}

// count counts who was asked for.
func (s *shop) count(page int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[page]++
	if s.plant == "mutex" {
		writeAudit()
	}
}

// writeAudit waits for a disk, or something like it.
func writeAudit() { time.Sleep(300 * time.Microsecond) }

// label joins the names.
func (s *shop) label(items []item) string {
	if s.plant == "allocation" {
		text := ""
		for _, i := range items {
			for _, c := range i.Name {
				text += string(c)
			}
		}
		return text
	}
	var b strings.Builder
	for _, i := range items {
		b.WriteString(i.Name)
	}
	return b.String()
}

// render makes the answer.
func (s *shop) render(items []item) []byte {
	text, _ := json.Marshal(items)
	if s.plant == "json" {
		text = pretty(text)
	}
	return text
}

// pretty goes over any on the way.
func pretty(text []byte) []byte {
	var any any
	json.Unmarshal(text, &any)
	text, _ = json.MarshalIndent(any, "", "  ")
	return text
}
