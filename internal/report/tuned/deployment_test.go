package tuned

import (
	"testing"

	"github.com/dynolab/dyno"
)

func TestDeployment(t *testing.T) {
	s := dyno.Setting{{Factor: "GOGC", Value: "200"}, {Factor: "limit.memory", Value: "96MiB"}, {Factor: "limit.cpu", Value: "0.5"}, {Factor: "load.concurrency", Value: "8"}}
	want := `# because
# and load.concurrency=8, which is not a part of the deployment
apiVersion: apps/v1
kind: Deployment
metadata:
  name: argus
spec:
  template:
    spec:
      containers:
        - name: server
          env:
            - name: GOGC
              value: "200"
          resources:
            limits:
              memory: "100663296"
              cpu: "0.5"
`
	if got := Deployment("argus", "server", s, "because"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Deployment("argus", "server", dyno.Setting{{Factor: "load.rate", Value: "5/s"}}, "because"); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}
