//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// nobody is the user of whom nothing is to be believed.
const nobody = 65534

// users are faults in which another user of the machine has a part.
func users() []kind {
	return []kind{
		{"a run of another user is resumed", func(t *try) error {
			harm := filepath.Join(t.dir, "harm")
			if err := os.CopyFS(t.out(), os.DirFS(t.genuine)); err != nil {
				return err
			}
			evil := filepath.Join(t.dir, "evil")
			err := errors.Join(os.WriteFile(evil, []byte("#!/bin/sh\ntouch "+harm+"\n"), 0o755),
				rewrite(filepath.Join(t.out(), "run.json"), func(text []byte) []byte {
					return []byte(strings.ReplaceAll(string(text), t.bench.source, evil))
				}),
				filepath.WalkDir(t.out(), func(path string, _ os.DirEntry, _ error) error { return os.Chown(path, nobody, nobody) }))
			if err != nil {
				return err
			}
			d, err := t.start("run", "--resume", t.out(), "--more", "2")
			if err != nil {
				return err
			}
			d.expect(1, 2)
			if _, err := os.Stat(harm); err == nil {
				t.wrong = append(t.wrong, "a program of another user was run")
			}
			return nil
		}},
		{"a ledger of another user", func(t *try) error {
			bait := filepath.Join(t.dir, "bait")
			ledger := filepath.Join(t.temp, "dyno-aaaaaaaaaa.guard")
			err := errors.Join(os.Mkdir(bait, 0o755), os.WriteFile(ledger, fmt.Appendf(nil, "{\"Path\":%q}\n", bait), 0o600), os.Chown(ledger, nobody, nobody))
			if err != nil {
				return err
			}
			return t.unharmed(bait, ledger)
		}},
		{"a ledger that is a link", func(t *try) error {
			bait := filepath.Join(t.dir, "bait")
			target, ledger := filepath.Join(t.dir, "target"), filepath.Join(t.temp, "dyno-aaaaaaaaaa.guard")
			err := errors.Join(os.Mkdir(bait, 0o755), os.WriteFile(target, fmt.Appendf(nil, "{\"Path\":%q}\n", bait), 0o600), os.Symlink(target, ledger))
			if err != nil {
				return err
			}
			return t.unharmed(bait, ledger)
		}},
		{"dyno of another user", func(t *try) error {
			if err := errors.Join(os.Chown(t.dir, nobody, nobody), os.Chown(t.temp, nobody, nobody)); err != nil {
				return err
			}
			d, err := t.startAs(&syscall.Credential{Uid: nobody, Gid: nobody}, t.small(t.out(), t.load()...)...)
			if err != nil {
				return err
			}
			d.expect(0)
			t.keptAll(t.out(), nil, d.said())
			return nil
		}},
	}
}

// unharmed runs dyno beside a ledger that it may not follow.
func (t *try) unharmed(bait, ledger string) error {
	d, err := t.start(t.small(t.out())...)
	if err != nil {
		return err
	}
	d.expect(0)
	if _, err := os.Stat(bait); err != nil {
		t.wrong = append(t.wrong, "dyno removed what another user's ledger names")
	}
	return os.Remove(ledger)
}
