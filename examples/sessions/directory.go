package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
)

//go:embed config.json
var initialConfig []byte

// user is one entry of the directory. It does not change once it is there.
type user struct {
	Name        string            `json:"name"`
	DisplayName string            `json:"display_name"`
	Email       string            `json:"email"`
	Attributes  map[string]string `json:"attributes"`
	Permissions []string          `json:"permissions"` // sorted

	password *passwordHash // nil: logs in elsewhere, never with a password here
}

// may reports whether u has a permission.
func (u *user) may(permission string) bool {
	i := sort.SearchStrings(u.Permissions, permission)
	return i < len(u.Permissions) && u.Permissions[i] == permission
}

// directory is all users by name. It is built at the start and only read
// afterwards, so it needs no lock.
type directory struct {
	users map[string]*user
}

// loadDirectory reads the users of an initial configuration.
func loadDirectory(config []byte) (*directory, error) {
	var c struct {
		Users []struct {
			user
			Password *passwordHash `json:"password"`
		} `json:"users"`
	}
	if err := json.Unmarshal(config, &c); err != nil {
		return nil, fmt.Errorf("read initial config: %w", err)
	}
	d := &directory{users: make(map[string]*user)}
	for _, entry := range c.Users {
		u := entry.user
		if u.Name == "" || d.users[u.Name] != nil {
			return nil, fmt.Errorf("read initial config: user %q: name is empty or taken", u.Name)
		}
		if p := entry.Password; p != nil && (len(p.Salt) == 0 || p.Iterations < 1) {
			return nil, fmt.Errorf("read initial config: user %q: password without salt or iterations", u.Name)
		}
		u.password = entry.Password
		sort.Strings(u.Permissions)
		d.users[u.Name] = &u
	}
	return d, nil
}

func (d *directory) len() int { return len(d.users) }

// authenticate returns the user of that name and password.
func (d *directory) authenticate(name, password string) (*user, bool) {
	u := d.users[name]
	hash := nobody
	if u != nil && u.password != nil {
		hash = *u.password
	}
	if !hash.matches(password) || u == nil || u.password == nil {
		return nil, false
	}
	return u, true
}

// generate adds n users, the same ones each time, where a real service would
// import a company's directory. They have no password. They are the greater
// part of the live heap, some 1.1 KB each: what the collector must mark in
// every cycle, however little the requests leave behind.
func (d *directory) generate(n int) {
	rng := rand.New(rand.NewPCG(1, 1))
	pick := func(words []string) string { return words[rng.IntN(len(words))] }
	for i := 0; i < n; i++ {
		given, family := pick(givenNames), pick(familyNames)
		name := fmt.Sprintf("%s.%s%d", given, family, i)
		site := pick(sites)
		u := &user{
			Name:        strings.ToLower(name),
			DisplayName: given + " " + family,
			Email:       strings.ToLower(name) + "@example.org",
			Attributes: map[string]string{
				"department":  pick(departments),
				"employee_id": fmt.Sprintf("E%07d", i),
				"site":        site,
				"office":      fmt.Sprintf("%s-%d.%03d", site, rng.IntN(9), rng.IntN(400)),
				"phone":       fmt.Sprintf("+358 %d %07d", 40+rng.IntN(10), rng.IntN(1e7)),
				"cost_center": fmt.Sprintf("CC-%05d", rng.IntN(1e5)),
				"locale":      pick(locales),
			},
			Permissions: []string{"session:create", "session:update"},
		}
		for range 8 + rng.IntN(8) {
			u.Permissions = append(u.Permissions, fmt.Sprintf("project/%04d:%s", rng.IntN(1e4), pick(verbs)))
		}
		sort.Strings(u.Permissions)
		d.users[u.Name] = u
	}
}

var (
	givenNames  = []string{"Aino", "Ben", "Chen", "Divya", "Elias", "Fatou", "Goran", "Hanna", "Ines", "Jonas", "Kaisa", "Liam"}
	familyNames = []string{"Andersson", "Bianchi", "Cohen", "Diallo", "Eskola", "Fischer", "Garcia", "Heikkinen", "Ito", "Jensen"}
	departments = []string{"Radio", "Core", "Transport", "Cloud", "Security", "Finance", "Legal", "Support"}
	sites       = []string{"Espoo", "Oulu", "Tampere", "Munich", "Krakow", "Bangalore", "Dallas"}
	locales     = []string{"fi-FI", "sv-FI", "en-GB", "en-US", "de-DE", "pl-PL", "hi-IN"}
	verbs       = []string{"read", "write", "review", "deploy"}
)
