package slow

import (
	"encoding/json"
	"slices"
)

// Version changes whenever a trace would be read otherwise: trials that were kept with another one are not used.
const Version = 8

type groupJSON struct {
	N       int
	Mean    float64
	Costs   []costJSON
	Samples []sampleJSON
	Calls   []callJSON
}

type costJSON struct {
	Key
	Mean, Sampling float64
}

type sampleJSON struct {
	Site Site
	N    int
}

type callJSON struct {
	Site Site
	Mean float64
}

// MarshalJSON implements json.Marshaler, so that a trial can be kept: the keys of its maps are no texts.
func (g Group) MarshalJSON() ([]byte, error) {
	j := groupJSON{N: g.N, Mean: g.Mean}
	for k, mean := range g.Cost {
		j.Costs = append(j.Costs, costJSON{k, mean, g.Sampling[k]})
	}
	slices.SortFunc(j.Costs, func(a, b costJSON) int { return compareKeys(a.Key, b.Key) })
	for s, n := range g.Samples {
		j.Samples = append(j.Samples, sampleJSON{s, n})
	}
	slices.SortFunc(j.Samples, func(a, b sampleJSON) int { return compareSites(a.Site, b.Site) })
	for s, mean := range g.Calls {
		j.Calls = append(j.Calls, callJSON{s, mean})
	}
	slices.SortFunc(j.Calls, func(a, b callJSON) int { return compareSites(a.Site, b.Site) })
	return json.Marshal(j)
}

// UnmarshalJSON implements json.Unmarshaler.
func (g *Group) UnmarshalJSON(text []byte) error {
	var j groupJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	*g = Group{N: j.N, Mean: j.Mean, Cost: map[Key]float64{}, Sampling: map[Key]float64{}, Samples: map[Site]int{}, Calls: map[Site]float64{}}
	for _, c := range j.Costs {
		g.Cost[c.Key], g.Sampling[c.Key] = c.Mean, c.Sampling
	}
	for _, s := range j.Samples {
		g.Samples[s.Site] = s.N
	}
	for _, c := range j.Calls {
		g.Calls[c.Site] = c.Mean
	}
	return nil
}
