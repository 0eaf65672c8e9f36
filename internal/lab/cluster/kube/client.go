package kube

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// A kind is one of objects, and where it is served.
type kind struct {
	name, path string
	version    schema.GroupVersion
}

var (
	pods        = kind{"pods", "/api", corev1.SchemeGroupVersion}
	jobs        = kind{"jobs", "/apis", batchv1.SchemeGroupVersion}
	deployments = kind{"deployments", "/apis", appsv1.SchemeGroupVersion}
)

// A client speaks with the API server about one namespace.
//
// Note: the clients of package kubernetes know all groups of the API, which makes a binary 20 MB larger.
type client struct {
	config    *rest.Config
	namespace string
	inside    bool // this is a pod of the cluster, which reaches others by their addresses
	of        map[kind]*rest.RESTClient
}

// connect reads the kubeconfig, or is a pod's. "" is the current context, and its namespace.
func connect(context, namespace string) (*client, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w (consider: KUBECONFIG, or on.kubernetes.context)", err)
	}
	if namespace == "" {
		if namespace, _, err = loader.Namespace(); err != nil {
			return nil, fmt.Errorf("read the kubeconfig: %w", err)
		}
	}
	raw, err := loader.RawConfig()
	c := &client{config: config, namespace: namespace, inside: err != nil || len(raw.Contexts) == 0, of: map[kind]*rest.RESTClient{}}
	klog.SetLogger(logr.Discard())     // what it says of a forwarded port that closes, our own errors say
	config.QPS, config.Burst = 50, 100 // all subjects of a block are looked at several times a second
	config.Timeout = 0                 // logs and forwarded ports stay open; requests have contexts
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, batchv1.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	for _, r := range []kind{pods, jobs, deployments} {
		own := rest.CopyConfig(config)
		own.GroupVersion, own.APIPath = &r.version, r.path
		own.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
		if c.of[r], err = rest.RESTClientFor(own); err != nil {
			return nil, fmt.Errorf("reach the cluster: %w", err)
		}
	}
	return c, nil
}

// answerTime bounds one request, retries included.
const answerTime = 15 * time.Second

// deleteTime is how long an object may take to go.
const deleteTime = 20 * time.Second

func (c *client) create(ctx context.Context, r kind, obj, into runtime.Object) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err := c.of[r].Post().Namespace(c.namespace).Resource(r.name).Body(obj).Do(ctx).Into(into)
	return c.explain("create", r, "", err)
}

func (c *client) get(ctx context.Context, r kind, name string, into runtime.Object) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err := c.of[r].Get().Namespace(c.namespace).Resource(r.name).Name(name).Do(ctx).Into(into)
	return c.explain("get", r, name, err)
}

// listPods lists the pods with labels.
func (c *client) listPods(ctx context.Context, labels string) ([]corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	list := new(corev1.PodList)
	err := c.of[pods].Get().Namespace(c.namespace).Resource(pods.name).Param("labelSelector", labels).Do(ctx).Into(list)
	return list.Items, c.explain("list", pods, "", err)
}

// delete deletes an object and what it owns. Its processes have grace seconds to end. With wait, delete
// returns when the object is gone.
func (c *client) delete(ctx context.Context, r kind, name string, grace int64, wait bool) error {
	ctx, cancel := context.WithTimeout(ctx, deleteTime)
	defer cancel()
	foreground := metav1.DeletePropagationForeground
	err := c.of[r].Delete().Namespace(c.namespace).Resource(r.name).Name(name).
		Body(&metav1.DeleteOptions{GracePeriodSeconds: &grace, PropagationPolicy: &foreground}).Do(ctx).Error()
	for err == nil && wait {
		gone := c.of[r].Get().Namespace(c.namespace).Resource(r.name).Name(name).Do(ctx).Error()
		if apierrors.IsNotFound(gone) || apierrors.IsForbidden(gone) {
			err = gone
		} else if !sleep(ctx, 100*time.Millisecond) { // another error may pass
			return fmt.Errorf("delete %s %s: it is still there after %v (consider: kubectl -n %s delete %s %s --force)", one(r), name, deleteTime, c.namespace, one(r), name)
		}
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return c.explain("delete", r, name, err)
}

// follow copies the lines of a container's log after the last one, which it keeps, until the log ends, or ctx.
func (c *client) follow(ctx context.Context, pod, container string, last *time.Time, to io.Writer) error {
	request := c.of[pods].Get().Namespace(c.namespace).Resource("pods").Name(pod).SubResource("log").
		Param("container", container).Param("follow", "true").Param("timestamps", "true")
	if !last.IsZero() {
		request.Param("sinceTime", last.UTC().Format(time.RFC3339)) // of whole seconds
	}
	log, err := request.Stream(ctx)
	if err != nil {
		return c.explain("read the log of", pods, pod, err)
	}
	defer log.Close()
	for lines := bufio.NewReaderSize(log, 64<<10); ; {
		line, err := lines.ReadBytes('\n')
		stamp, text, ok := bytes.Cut(line, []byte(" "))
		if at, bad := time.Parse(time.RFC3339Nano, string(stamp)); ok && bad == nil && at.After(*last) {
			*last = at
			to.Write(text) // a Tail takes all
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func one(r kind) string { return strings.TrimSuffix(r.name, "s") }

// explain says what an error of the API server means, and what helps.
func (c *client) explain(verb string, r kind, name string, err error) error {
	if err == nil {
		return nil
	}
	what := strings.TrimSuffix(fmt.Sprintf("%s %s %s", verb, one(r), name), " ")
	var status apierrors.APIStatus
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: the API server %s did not answer within %v (consider: kubectl get pods)", what, c.config.Host, answerTime)
	case apierrors.IsNotFound(err) && r == deployments:
		return fmt.Errorf("there is no deployment %s in namespace %s (consider: on.kubernetes.namespace)", name, c.namespace)
	case apierrors.IsNotFound(err) && verb == "create":
		return fmt.Errorf("%s: there is no namespace %s (consider: on.kubernetes.namespace)", what, c.namespace)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "quota"):
		return fmt.Errorf("%s: the quota of namespace %s does not allow it: %w (consider: a higher quota, fewer agents, --alone, or a quota of pods and memory only)", what, c.namespace, err)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "PodSecurity"):
		return fmt.Errorf("%s: the security level of namespace %s does not allow it: %w", what, c.namespace, err)
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s in namespace %s: not allowed: %w (consider: the Role of deploy/role.yaml)", what, c.namespace, err)
	case errors.As(err, &status):
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w (consider: whether kubectl reaches the cluster)", what, err)
}

// sleep returns false if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
