package traffic

import "testing"

func TestSecretHeaders(t *testing.T) {
	b := newBuilder(false)
	for name, want := range map[string]bool{
		"Authorization": true, "Cookie": true, "X-Api-Key": true, "X-Session-Id": true, "X-Auth": true, "Authentication": true,
		"Ocp-Apim-Subscription-Key": true, "X-Functions-Key": true, "X-Amzn-Oidc-Data": true, "X-Csrf-Token": true,
		"Accept": false, "User-Agent": false, "Content-Type": false, "X-Request-Id": false, "Idempotency": false,
	} {
		if got := b.secret(name); got != want {
			t.Errorf("%s: secret %v, want %v", name, got, want)
		}
	}
}
