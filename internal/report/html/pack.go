package html

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"math/bits"
	"slices"

	"github.com/dynolab/dyno/internal/analysis/timeline"
	"github.com/dynolab/dyno/internal/report/layout"
)

// PictureJSON writes a picture for the scripts of a page (report/html/page/data.js
// reads it): JSON, with columns of numbers packed. The error is w's.
func PictureJSON(w io.Writer, p *timeline.Picture) error {
	j := pictureJSON{Rows: p.Rows, Low: p.Low.Seconds(), High: p.High.Seconds(), Axis: []stretchJSON{}, Settings: []pictureOfJSON{}}
	for _, s := range p.Axis {
		j.Axis = append(j.Axis, stretchJSON{s.Block, s.From.Seconds(), s.To.Seconds(), s.Columns})
	}
	to := newPacker()
	for i := range p.Settings {
		j.Settings = append(j.Settings, pictureOf(p, &p.Settings[i], to))
	}
	return json.NewEncoder(w).Encode(&j)
}

type pictureJSON struct {
	Axis     []stretchJSON   `json:"axis"`
	Rows     int             `json:"rows"`
	Low      float64         `json:"low"` // this and all times in seconds
	High     float64         `json:"high"`
	Settings []pictureOfJSON `json:"settings"`
}

type stretchJSON struct {
	Block   int     `json:"block"`
	From    float64 `json:"from"`
	To      float64 `json:"to"`
	Columns int     `json:"columns"`
}

// A pictureOfJSON has the columns of all stretches, one after the other. Unknown values are null; an unknown
// trial has counts of 0, or NaN.
type pictureOfJSON struct {
	Name       string      `json:"name"`
	Trials     []int       `json:"trials"`
	Whole      bool        `json:"whole"`
	Seconds    bool        `json:"seconds"`
	Heat       *packed     `json:"heat"`       // uint32, of each column its rows
	Collecting *packed     `json:"collecting"` // float32
	Stops      *packed     `json:"stops"`      // uint32
	Slowest    []slowJSON  `json:"slowest"`
	Tracks     []trackJSON `json:"tracks"`
}

type slowJSON struct {
	Trial   int     `json:"trial"`
	Step    string  `json:"step"`
	At      float64 `json:"at"` // due, since the window began
	Latency float64 `json:"latency"`
	Status  int     `json:"status"`
	Met     *bool   `json:"met"` // null if it is not known
}

type trackJSON struct {
	Metric string  `json:"metric"`
	Label  string  `json:"label"`
	Unit   string  `json:"unit"`
	Min    *packed `json:"min"`
	Max    *packed `json:"max"`
	Last   *packed `json:"last"`
}

func pictureOf(p *timeline.Picture, s *timeline.PictureOf, to *packer) pictureOfJSON {
	j := pictureOfJSON{
		Name: s.Setting.Label(), Trials: s.Trials, Whole: s.Whole, Seconds: s.Seconds, Slowest: []slowJSON{}, Tracks: []trackJSON{},
	}
	var heat, stops []uint32
	var collecting []float64
	counted, watched := false, false
	for i, stretch := range p.Axis {
		h := s.Heats[i]
		if h == nil || h.Counts == nil {
			heat = append(heat, make([]uint32, stretch.Columns*p.Rows)...)
		} else {
			heat, counted = append(heat, h.Counts...), true
		}
		for c := range stretch.Columns {
			if h == nil || h.Collecting == nil {
				collecting, stops = append(collecting, math.NaN()), append(stops, 0)
				continue
			}
			collecting, stops, watched = append(collecting, h.Collecting[c]), append(stops, uint32(h.Stops[c])), true
		}
	}
	if counted {
		for i, n := range heat {
			heat[i] = about(n)
		}
		j.Heat = to.pack(heat)
	}
	if watched {
		j.Collecting, j.Stops = to.floats(collecting), to.pack(stops)
	}
	for _, q := range s.Slowest {
		x := slowJSON{q.Trial, q.Step, q.Due.Seconds(), (q.Done - q.Due).Seconds(), q.Status, nil}
		if q.Known {
			x.Met = &q.Met
		}
		j.Slowest = append(j.Slowest, x)
	}
	for _, t := range s.Tracks {
		label, unit := baseUnit(t.Metric)
		if words := trackWords[t.Metric]; words != "" {
			label = words
		}
		j.Tracks = append(j.Tracks, trackJSON{t.Metric, label, unit, to.floats(t.Min), to.floats(t.Max), to.floats(t.Last)})
	}
	return j
}

// trackWords are tracks in words.
var trackWords = map[string]string{
	"rss-B": "resident memory", "heap-B": "heap", "heap-live-B": "live heap", "heap-goal-B": "heap goal", "cpu-frac": "CPU, of one core",
	"gc-wall-frac": "share of time in collections", "throttled-frac": "share of periods throttled", "fds": "file descriptors",
}

// baseUnit splits a metric's name into a label and its base unit: "sec", "B", "frac"
// or "".
func baseUnit(metric string) (label, unit string) {
	label, steps := layout.UnitOf(metric)
	switch &steps[0] {
	case &layout.TimeSteps[0]:
		unit = "sec"
	case &layout.ByteSteps[0]:
		unit = "B"
	case &layout.FracSteps[0]:
		unit = "frac"
	}
	return label, unit
}

// aboutBits is the number of bits of counts from 32 on. It makes them exact to 3 %, a difference that no
// shade shows. A heat map of 30 million requests, 1,200 by 100, takes 75 to 121 KiB instead of up to 167.
const aboutBits = 5

// about rounds a middle to an even last bit, so that sums are not too high.
func about(n uint32) uint32 {
	shift := bits.Len32(n) - aboutBits
	if shift <= 0 {
		return n
	}
	half := uint32(1) << (shift - 1)
	if n > math.MaxUint32-half {
		return n >> shift << shift
	}
	odd := n >> shift & 1
	return (n + half - 1 + odd) >> shift << shift
}

// packed is numbers of four bytes, little end first, as base64 of gzip. All first bytes come
// first, then all second bytes: neighbours are alike, which halves the size.
type packed string

// A packer packs one after another: a gzip.Writer takes a megabyte.
type packer struct {
	zip      *gzip.Writer
	zipped   bytes.Buffer
	shuffled []byte
}

func newPacker() *packer {
	zip, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is known; the next ones save a tenth in five times the time
	return &packer{zip: zip}
}

// floats rounds to 13 bits, or 0.01 %, so that a byte of four is 0.
func (p *packer) floats(xs []float64) *packed {
	const dropped = 11 // bits
	ns := make([]uint32, len(xs))
	for i, x := range xs {
		ns[i] = math.Float32bits(float32(x))
		if !math.IsNaN(x) && !math.IsInf(float64(float32(x)), 0) {
			ns[i] = (ns[i] + 1<<(dropped-1)) >> dropped << dropped
		}
	}
	return p.pack(ns)
}

func (p *packer) pack(ns []uint32) *packed {
	p.shuffled = slices.Grow(p.shuffled[:0], 4*len(ns))[:4*len(ns)]
	for i, n := range ns {
		for k := range 4 {
			p.shuffled[k*len(ns)+i] = byte(n >> (8 * k))
		}
	}
	p.zipped.Reset()
	p.zip.Reset(&p.zipped)
	p.zip.Write(p.shuffled) // to memory: no error
	p.zip.Close()
	text := packed(base64.StdEncoding.EncodeToString(p.zipped.Bytes()))
	return &text
}
