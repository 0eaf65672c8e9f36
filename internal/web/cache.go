package web

import "sync"

// A cache keeps what was made of a run's files while they do not change. The zero value
// keeps any number of values.
type cache[K comparable, V any] struct {
	most int // values to keep; 0 means any number

	mu   sync.Mutex
	uses int
	kept map[K]*cached[V]
}

type cached[V any] struct {
	stamp string // of the files that the value was made of
	used  int    // number of the last use
	value func() (V, error)
}

// get returns the value of a key. It calls make, once for all who ask at the same
// time, if there is none or if it has another stamp. An error is not kept.
func (c *cache[K, V]) get(key K, stamp string, make func() (V, error)) (V, error) {
	c.mu.Lock()
	x := c.kept[key]
	if x == nil || x.stamp != stamp {
		x = &cached[V]{stamp: stamp, value: sync.OnceValues(make)}
		if c.kept == nil {
			c.kept = map[K]*cached[V]{}
		}
		c.kept[key] = x
	}
	c.uses++
	x.used = c.uses
	if c.most > 0 {
		c.trim(c.most)
	}
	c.mu.Unlock()

	made := false
	defer func() { // also if make panics
		if !made {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.kept[key] == x {
				delete(c.kept, key)
			}
		}
	}()
	v, err := x.value()
	made = err == nil
	return v, err
}

// has reports whether there is a value with this stamp, or one is being made.
func (c *cache[K, V]) has(key K, stamp string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.kept[key]
	return x != nil && x.stamp == stamp
}

// trim drops the values that were not used for longest until most are left. c.mu is
// locked.
func (c *cache[K, V]) trim(most int) {
	for len(c.kept) > most {
		var oldest K
		first := c.uses + 1
		for key, x := range c.kept {
			if x.used < first {
				oldest, first = key, x.used
			}
		}
		delete(c.kept, oldest)
	}
}
