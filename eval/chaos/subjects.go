//go:build linux

package main

// subjects are services that do what no service should. Of each the statuses are known that dyno may end with.
func subjects() []kind {
	const ok, failed = 0, 1
	var all []kind
	for _, s := range []struct {
		mode     string
		statuses []int
	}{
		{"never", []int{failed}},
		{"late", []int{ok}},
		{"elsewhere", []int{failed}},
		{"speaks and dies", []int{failed}},
		{"orphans", []int{ok}},
		{"floods", []int{ok, failed}},
		{"one endless line", []int{ok, failed}},
		{"false gctrace", []int{ok, failed}},
		{"fills its directory", []int{ok}},
		{"eats memory", []int{ok}},
		{"kills its guard", []int{failed}},
		{"stops its guard", []int{failed}},
		{"deaf", []int{ok}},
		{"half closed output", []int{ok}},
		{"dies", []int{failed}},
		{"panics", []int{failed}},
		{"stuck", []int{failed}},
		{"stops", []int{failed}},
		{"stops to hear", []int{failed, ok}}, // connections that are open live on
	} {
		all = append(all, kind{"subject " + s.mode, func(t *try) error {
			args := append(t.small(t.out(), t.load()...), "--env", "MODE="+s.mode, "--env", "DIR={{.Dir}}", "--ready-timeout", "3s", "--timeout", "1s", "--strict=false")
			d, err := t.start(args...)
			if err != nil {
				return err
			}
			d.expect(s.statuses...)
			t.keptAll(t.out(), nil, d.said())
			return t.nextStart()
		}})
	}
	return all
}
