package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	signer "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Names of buckets are narrower at Amazon, and were wider once.
var bucketName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$`)

// openS3 returns the server of a folder in a bucket, s3://BUCKET/FOLDER. It takes the folder as it is written, and keys, region and endpoint from
// the variables of Amazon's own tools.
func openS3(place string, env func(string) string) (*server, error) {
	bucket, folder, _ := strings.Cut(strings.TrimPrefix(place, "s3://"), "/")
	folder = strings.TrimSuffix(folder, "/")
	if !bucketName.MatchString(bucket) || "/"+folder != path.Clean("/"+folder) {
		return nil, errors.New("open a ledger: the place in a bucket cannot be read (want one such as s3://bucket/track)") // it may have a password
	}
	region := cmp.Or(env("AWS_REGION"), env("AWS_DEFAULT_REGION"))
	keys := aws.Credentials{AccessKeyID: env("AWS_ACCESS_KEY_ID"), SecretAccessKey: env("AWS_SECRET_ACCESS_KEY"), SessionToken: env("AWS_SESSION_TOKEN")}
	if region == "" || keys.AccessKeyID == "" || keys.SecretAccessKey == "" {
		return nil, fmt.Errorf("open %s: AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not all set (consider: aws configure export-credentials --format env, and the region of the bucket)", place)
	}
	endpoint := cmp.Or(env("AWS_ENDPOINT_URL_S3"), env("AWS_ENDPOINT_URL"))
	if endpoint == "" {
		endpoint = "https://s3." + region + ".amazonaws.com"
		if strings.HasPrefix(region, "cn-") {
			endpoint += ".cn"
		}
	}
	s, err := openServer(endpoint)
	if err != nil || s.base.RawQuery != "" {
		return nil, fmt.Errorf("open %s: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL is no address (want one such as https://minio.example.org:9000)", place)
	}
	// The path has the bucket: no certificate covers a host whose bucket has a dot.
	s.base = s.base.JoinPath(bucket, escaped(folder))
	s.bucket, s.cure = place, "the keys, and what they may do: s3:GetObject, s3:PutObject, and s3:ListBucket, without which S3 forbids to read what is not there yet"
	v4 := signer.NewSigner(func(o *signer.SignerOptions) { o.DisableURIPathEscaping = true }) // as S3 wants
	s.sign = func(ctx context.Context, req *http.Request, body []byte) error {
		sum := sha256.Sum256(body)
		hash := hex.EncodeToString(sum[:])
		req.Header.Set("X-Amz-Content-Sha256", hash)
		return v4.SignHTTP(ctx, keys, req, hash, "s3", region, time.Now())
	}
	return s, nil
}

// escaped is a path as S3 signs it: all is escaped but letters, digits, -, ., _, ~ and /. [url.URL] leaves more as it is.
func escaped(folder string) string {
	var b strings.Builder
	for _, c := range []byte(folder) {
		switch {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
