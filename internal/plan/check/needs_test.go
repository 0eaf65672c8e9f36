package check_test

import (
	"strings"
	"testing"

	"github.com/dynolab/dyno/internal/plan"
)

// Mistakes in needs have their place.
func TestNeeds(t *testing.T) {
	for _, c := range []struct{ needs, more, want string }{
		{"{db: {postgres: {}}}", "", ""},
		{"{db: {postgres: }}", "", ""},
		{"{a: {command: [x, '{{.needs.b.Addr}}']}, b: {command: [y]}}", "vary: {needs.a.delay: [0s, 2ms], needs.b.env.X: [1, 2]}\n", ""},
		{"{db: {}}", "", "3:9: need db does not say what it is"},
		{"{db: {postgres: {}, redis: {}}}", "", "3:9: need db is several things"},
		{"{d-b: {redis: {}}}", "", "bad name \"d-b\" of a need"},
		{"{db: {redis: {}, per: hour}}", "", "bad per \"hour\" (want launch, block or run)"},
		{"{db: {redis: {}, per: run, url: 'redis://x'}}", "", "need db is several things"},
		{"{bus: {nats: {seed: x.txt}}}", "", "a NATS server has no seed"},
		{"{db: {redis: {}, ready: /}}", "", "env and ready are for a package, a command or an image"},
		{"{db: {postgress: {}}}", "", "did you mean postgres?"},
		{"{a: {command: [x, '{{.needs.b.Addr}}']}, b: {command: [y, '{{.needs.a.Addr}}']}}", "", "needs wait for each other: a → b → a"},
		{"{a: {command: [x, '{{.needs.aa.Addr}}']}}", "", "need a uses {{.needs.aa}}, which is not there (did you mean a?)"},
		{"{cache: {redis: {}}}", "subject: {binary: x, env: {URL: '{{.needs.cash.URL}}'}}\n", "the subject uses {{.needs.cash}}, which is not there (did you mean cache?)"},
		{"{db: {postgres: {}}}", "vary: {needs.db.rev: [a, b]}\n", "a need that is a postgres has no \"rev\" to vary"},
		{"{db: {postgres: {}}}", "vary: {needs.dp.delay: [0s, 1ms]}\n", "there is no need dp (did you mean db?)"},
		{"{db: {postgres: {}}}", "vary: {needs.db.delay: [soon]}\n", "bad duration \"soon\""},
		{"{db: {postgres: {}}}", "subject: {package: .}\nslice: 1s\nvary: {GOGC: [100, 200]}\n", "slices have no needs yet"},
		{"{db: {postgres: {}}}", "bench: {}\n", ""},
		{"{db: {}}", "bench: {}\n", "need db does not say what it is"},
		{"{db: {pid: 7}}", "subject: {url: 'http://127.0.0.1:1'}\n", ""},
		{"{db: {postgres: {}}}", "subject: {url: 'http://127.0.0.1:1'}\n", "a need is a process (want for example needs: {db: {pid: 1234}})"},
		{"{rest: {pid: 7}}", "subject: {url: 'http://127.0.0.1:1'}\n", "rest is no name for a need"},
		{"{db: {postgres: {}, pid: 7}}", "", "pid is for a need with a url"},
		{"{db: {postgres: {}, fill: [x, '{{.needs.b.URL}}']}}", "", "fill runs before other needs are there"},
		{"{a: {command: [y], fill: [x]}}", "", "fill is for postgres, redis and mysql"},
		{"{db: {redis: {}, drop: 0.1%}}", "", ""},
	} {
		text := "name: x\n"
		if !strings.Contains(c.more, "subject:") && !strings.Contains(c.more, "bench:") {
			text += "subject: {binary: x}\n"
		} else {
			text += "\n"
		}
		_, err := plan.Parse("plan.yaml", []byte(text+"needs: "+c.needs+"\n"+c.more))
		if err == nil != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s:\n got %v\nwant %s", c.needs, c.more, err, c.want)
		}
	}
}
