package ledger

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

const (
	accessKey = "AKIDEXAMPLE"
	secretKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

// All else is escaped, each byte: docs.aws.amazon.com, "UriEncode()".
var unreserved = regexp.MustCompile(`(?s)[^A-Za-z0-9\-._~/]`)

var authorized = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=` + accessKey + `/(\d{8})/eu-west-1/s3/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$`)

// signed reports whether a request has the signature that S3 wants: docs.aws.amazon.com, Signature Version 4, "Create a signed request".
func signed(r *http.Request) bool {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	m := authorized.FindStringSubmatch(r.Header.Get("Authorization"))
	if err != nil || m == nil {
		return false
	}
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	hash := r.Header.Get("X-Amz-Content-Sha256")
	if hash != sum(string(body)) {
		return false
	}
	canonical := r.Method + "\n" + unreserved.ReplaceAllStringFunc(r.URL.Path, func(c string) (bytes string) {
		for i := range len(c) {
			bytes += fmt.Sprintf("%%%02X", c[i])
		}
		return bytes
	}) + "\n\n"
	for name := range strings.SplitSeq(m[2], ";") {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(r.ContentLength)
		}
		canonical += name + ":" + strings.TrimSpace(value) + "\n"
	}
	canonical += "\n" + m[2] + "\n" + hash
	text := "AWS4-HMAC-SHA256\n" + r.Header.Get("X-Amz-Date") + "\n" + m[1] + "/eu-west-1/s3/aws4_request\n" + sum(canonical)
	key := []byte("AWS4" + secretKey)
	for _, part := range []string{m[1], "eu-west-1", "s3", "aws4_request", text} {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(part))
		key = h.Sum(nil)
	}
	for _, needed := range []string{"host", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"} {
		if !strings.Contains(";"+m[2]+";", ";"+needed+";") {
			return false
		}
	}
	return hex.EncodeToString(key) == m[3]
}

// The ledger signs each request to a bucket. No message has the credentials.
func TestS3(t *testing.T) {
	objects := &bucket{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/none/") {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, "<Error><Code>NoSuchBucket</Code></Error>")
			return
		}
		if !signed(r) || !strings.HasPrefix(r.URL.Path, "/shop/") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		objects.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	for name, value := range map[string]string{"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_SESSION_TOKEN": "token", "AWS_ENDPOINT_URL_S3": server.URL + "/"} {
		t.Setenv(name, value)
	}
	l := open(t, "s3://shop/a b/track", "")
	if l.String() != "s3://shop/a b/track" {
		t.Errorf("it is called %s", l)
	}
	for i := range 3 {
		if err := l.Add(t.Context(), []json.RawMessage{line(i*40*24*3600, "x")}); err != nil {
			t.Fatal(err)
		}
	}
	if lines, skipped, err := open(t, "s3://shop/a b/track", "").Read(t.Context()); err != nil || len(lines) != 3 || skipped.Lines != 0 {
		t.Errorf("%d lines, %+v, %v", len(lines), skipped, err)
	}
	if _, _, err := open(t, "s3://none/track", "").Read(t.Context()); err == nil || !strings.Contains(err.Error(), "404 Not Found NoSuchBucket") {
		t.Errorf("a bucket that is not there: %v", err)
	}
	objects.mu.Lock()
	clear(objects.objects)
	objects.mu.Unlock()
	for _, folder := range []string{"", "/", "/a/", "/a+b", "/team=a,b", "/c#/x", "/c#/y", "/a%23b", "/a?b", "/100%", "/ü@(!)&:'*"} {
		if err := open(t, "s3://shop"+folder, "").Add(t.Context(), []json.RawMessage{line(1, "x")}); err != nil {
			t.Errorf("folder %s: %v", folder, err)
		}
		if name := "/shop" + strings.TrimSuffix(folder, "/") + "/index.json"; objects.objects[name] == "" {
			t.Errorf("folder %s: no %s", folder, name)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL_S3", "https://user:hunter2@minio:9x00")
	if _, err := Open(t.Context(), "s3://shop/track", "", ""); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "AWS_ENDPOINT_URL") {
		t.Error(err)
	}
	t.Setenv("AWS_ENDPOINT_URL_S3", server.URL)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another")
	_, _, err := open(t, "s3://shop/a b/track", "").Read(t.Context())
	if err == nil || !strings.Contains(err.Error(), "403 Forbidden (consider: the keys") || strings.Contains(err.Error(), "another") {
		t.Error(err)
	}
	for _, place := range []string{"s3:///track", "s3://user:pass@shop/track", "s3://shop/a/../b", "s3://shop//a"} {
		if _, err := Open(t.Context(), place, "", ""); err == nil || strings.Contains(err.Error(), "pass") {
			t.Errorf("%s: %v", place, err)
		}
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	if _, err := Open(t.Context(), "s3://shop/track", "", ""); err == nil || !strings.Contains(err.Error(), "AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not all set") {
		t.Error(err)
	}
}
