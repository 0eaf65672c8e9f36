package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	signer "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// openS3 returns the server of a folder in a bucket, s3://BUCKET/FOLDER. Credentials, region and endpoint are those of the
// variables that AWS's own tools read. A bucket of another endpoint is named in the path, and one of AWS in the host.
func openS3(place string, env func(string) string) (*server, error) {
	u, err := url.Parse(place)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("open a ledger: the URL cannot be read (want one such as s3://bucket/track)")
	}
	region := cmp.Or(env("AWS_REGION"), env("AWS_DEFAULT_REGION"))
	keys := aws.Credentials{AccessKeyID: env("AWS_ACCESS_KEY_ID"), SecretAccessKey: env("AWS_SECRET_ACCESS_KEY"), SessionToken: env("AWS_SESSION_TOKEN")}
	if region == "" || keys.AccessKeyID == "" || keys.SecretAccessKey == "" {
		return nil, fmt.Errorf("open %s: AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not all set (consider: aws configure export-credentials --format env)", place)
	}
	at := fmt.Sprintf("https://%s.s3.%s.amazonaws.com", u.Host, region)
	if endpoint := cmp.Or(env("AWS_ENDPOINT_URL_S3"), env("AWS_ENDPOINT_URL")); endpoint != "" {
		at = strings.TrimSuffix(endpoint, "/") + "/" + u.Host
	}
	s, err := openServer(at + u.Path)
	if err != nil {
		return nil, fmt.Errorf("open %s: the endpoint %q cannot be read", place, at)
	}
	s.bucket, s.cure = place, "the keys, and whether they may s3:GetObject, s3:PutObject and s3:ListBucket, without which what is not there yet is forbidden"
	v4 := signer.NewSigner(func(o *signer.SignerOptions) { o.DisableURIPathEscaping = true }) // as S3 wants
	s.sign = func(ctx context.Context, req *http.Request, body []byte) error {
		sum := sha256.Sum256(body)
		hash := hex.EncodeToString(sum[:])
		req.Header.Set("X-Amz-Content-Sha256", hash)
		return v4.SignHTTP(ctx, keys, req, hash, "s3", region, time.Now())
	}
	return s, nil
}
