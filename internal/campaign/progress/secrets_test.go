package progress

import (
	"os"
	"strings"
	"testing"
)

// What a run directory does not hold comes from the environment; without a terminal nobody is asked.
func TestSecrets(t *testing.T) {
	t.Setenv("DYNO_SECRET_COOKIE", "a=b")
	if got, err := Secrets([]string{"COOKIE"}); got["COOKIE"] != "a=b" || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	stdin := os.Stdin
	os.Stdin = null
	defer func() { os.Stdin = stdin }()
	if _, err := Secrets([]string{"COOKIE", "TOKEN"}); err == nil || !strings.Contains(err.Error(), "DYNO_SECRET_TOKEN is not set") {
		t.Error(err)
	}
}
