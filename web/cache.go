package web

import (
	"errors"
	"sync"
)

// A cache keeps what was made of a run's files while they do not change. The zero value
// keeps any number of values.
type cache[K comparable, V any] struct {
	most   int         // values to keep; 0 means any number
	weight int         // of all values together; 0 means any
	weigh  func(V) int // nil if values have no weight

	mu   sync.Mutex
	uses int
	kept map[K]*cached[V]
}

type cached[V any] struct {
	stamp  string // of the files that the value was made of
	used   int    // number of the last use
	weight int

	once  sync.Once
	value V
	err   error
}

// get returns the value of a key. It calls make, once for all who ask at the same
// time, if there is none or if it has another stamp. An error is not kept.
func (c *cache[K, V]) get(key K, stamp string, make func() (V, error)) (V, error) {
	c.mu.Lock()
	x := c.kept[key]
	if x == nil || x.stamp != stamp {
		x = &cached[V]{stamp: stamp}
		if c.kept == nil {
			c.kept = map[K]*cached[V]{}
		}
		c.kept[key] = x
	}
	c.uses++
	x.used = c.uses
	c.mu.Unlock()

	defer c.settle(key, x)
	x.once.Do(func() {
		x.err = errors.New("it could not be made") // if make panics
		x.value, x.err = make()
	})
	return x.value, x.err
}

// settle forgets a value that could not be made, or makes room for one that could.
func (c *cache[K, V]) settle(key K, x *cached[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case x.err != nil && c.kept[key] == x: // the next request tries again
		delete(c.kept, key)
	case x.err == nil && c.weigh != nil:
		x.weight = c.weigh(x.value)
	}
	if c.most > 0 {
		c.trim(c.most)
	}
}

// has reports whether there is a value with this stamp, or one is being made.
func (c *cache[K, V]) has(key K, stamp string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.kept[key]
	return x != nil && x.stamp == stamp
}

// trim drops the values that were not used for longest until most are left, and
// these are not too heavy. c.mu is locked.
func (c *cache[K, V]) trim(most int) {
	sum := 0
	for _, x := range c.kept {
		sum += x.weight
	}
	for len(c.kept) > most || c.weight > 0 && sum > c.weight {
		var oldest K
		first := c.uses + 1
		for key, x := range c.kept {
			if x.used < first {
				oldest, first = key, x.used
			}
		}
		sum -= c.kept[oldest].weight
		delete(c.kept, oldest)
	}
}
