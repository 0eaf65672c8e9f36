package check_test

import (
	"strings"
	"testing"

	"github.com/dynolab/dyno/internal/plan"
)

// Mistakes in needs have their place.
func TestNeeds(t *testing.T) {
	const inPod = "subject: {image: x}\non: {kubernetes: {image: dyno, namespace: x}}\n"
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
		{"{db: {postgres: {seed: x.sql}, per: block}, bus: {image: 'bus:1', port: 80}, old: {url: 'redis://10.1.2.3'}}", inPod, ""},
		{"{db: {postgres: {version: 15}, fill: [x, '{{.URL}}'], reset: [x, '{{.URL}}']}}", inPod, ""},
		{"{users: {package: .}}", inPod, "need users is an image, not a package (consider: dyno image makes"},
		{"{users: {command: [x]}}", inPod, "need users is an image, not a command"},
		{"{bus: {image: 'bus:1', mounts: ['/a:/b']}}", inPod, "a pod has none of its files"},
		{"{db: {postgres: {}, user: root}}", inPod, "run as user 65532"},
		{"{bus: {image: 'bus:1', ready_command: [x]}}", inPod, "consider: ready or ready_log"},
		{"{db: {postgres: {}, delay: 2ms}}", inPod, "delay and drop are for a subject on this machine"},
		{"{db: {postgres: {}}}", inPod + "vary: {needs.db.drop: [0, 1%]}\n", "delay and drop are for a subject on this machine"},
		{"{db: {url: 'redis://10.1.2.3', pid: 7}}", inPod, "want url alone"},
		{"{db: {url: 'redis://localhost'}}", inPod, "to a pod redis://localhost is the pod itself"},
		{"{db: {postgres: {}, per: run}}", strings.Replace(inPod, "namespace: x", "nodes: [a, b]", 1), "cannot be on 2 nodes"},
		{"{a: {redis: {}}, db: {postgres: {}, reset: [x, '{{.needs.a.URL}}']}}", inPod, "reaches its own server alone"},
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
