// Package remote has the commands that bring programs to other machines.
package remote

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/campaign/progress"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/subject"
	"github.com/dynolab/dyno/internal/subject/image"
)

type imageFlags struct {
	version  string                          // of this dyno
	self     func() (file string, err error) // its executable
	plan     flags.Set                       // go, rev and build
	tag, out string
	arch     string
	inject   bool
	agent    bool
}

// ofBuilds are the flags that say how to build.
var ofBuilds = []string{"go", "rev", "build", "arch", "inject"}

// ofTags makes a tag of a version such as (devel) or v0.1.0+dirty.
var ofTags = strings.NewReplacer("+", "-", "(", "", ")", "")

// NewImage is the command dyno image of a version of dyno.
func NewImage(version string) *cobra.Command { return newImage(version, os.Executable) }

func newImage(version string, self func() (string, error)) *cobra.Command {
	o := imageFlags{version: version, self: self}
	cmd := &cobra.Command{
		Use:   "image PACKAGE | MODULE@VERSION | EXECUTABLE | --agent",
		Short: "Write a container image of a service, without docker",
		Long: `Image builds a service as dyno run does, with the runtime probe in it, and writes a
container image as a tar. The image has the executable, CA certificates and /tmp. It
has no shell, no time zones (consider: --build -tags=timetzdata) and no files of yours.
It runs as user 65532. Outside of dyno the probe does nothing.

    dyno image ./cmd/server
    dyno image ./cmd/server --tag registry.example.com/team/server:v1 -o server.tar
    dyno image ./cmd/server --rev main --arch arm64
    dyno image --agent                             this dyno, as the image of dyno agent

Docker, podman, containerd, skopeo, crane and kind read the file. Standard output has
one line: name, digest, and size of the file. The same executable gives the same digest.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !typed(cmd, "out") { // DYNO_OUT is the directory of a run
				o.out = ""
			}
			s, err := o.subject(cmd, args)
			if err != nil {
				return err
			}
			return o.run(cmd, s)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.tag, "tag", "", "`name` of the image (default NAME:latest, with --agent dyno:VERSION)")
	fs.StringVarP(&o.out, "out", "o", "", "the `file` to write (default NAME.tar)")
	fs.BoolVar(&o.agent, "agent", false, "an image of this dyno, whose default command is agent")
	fs.StringVar(&o.arch, "arch", runtime.GOARCH, "`architecture` to build for, such as amd64 or arm64")
	o.plan.Key(fs, "go", "", "version", "subject.go", "version of the Go toolchain that builds the service")
	o.plan.Key(fs, "rev", "", "revision", "subject.rev", "git revision to build")
	o.plan.Key(fs, "build", "", "flags", "subject.build", "flags of go build, such as '-pgo=off'")
	fs.BoolVar(&o.inject, "inject", true, "build the runtime probe into the service")
	return cmd
}

// typed reports whether a flag was given on the command line itself: a DYNO_ variable, which is for all
// commands, leaves an annotation.
func typed(cmd *cobra.Command, name string) bool {
	f := cmd.Flags().Lookup(name)
	return f.Changed && f.Annotations == nil
}

// subject is what the image is to have: a package to build, or an executable.
func (o *imageFlags) subject(cmd *cobra.Command, args []string) (*dyno.Subject, error) {
	e, err := o.plan.Experiment()
	if err != nil {
		return nil, err
	}
	s := &e.Subject
	switch {
	case o.agent && len(args) > 0:
		return nil, flags.Mistakef("--agent is an image of dyno itself, not of %s (want one of them)", args[0])
	case o.agent:
		s.Binary, err = o.self()
	case len(args) == 0:
		return nil, flags.Mistakef("no package given (consider: dyno image ./cmd/server)")
	default:
		err = flags.Target(e, args[0])
	}
	switch {
	case err != nil:
		return nil, err
	case s.Source():
		// The whole build is for the image, whatever the environment of dyno says.
		s.Env = map[string]string{"CGO_ENABLED": "0", "GOOS": "linux", "GOARCH": o.arch}
		s.NoInject = dyno.Not(!o.inject)
	case s.Binary == "":
		return nil, flags.Mistakef("%s is neither a package nor an executable (consider: dyno image ./cmd/server)", s)
	default:
		for _, name := range ofBuilds {
			if typed(cmd, name) {
				return nil, flags.Mistakef("--%s is for a package, and %s is already compiled", name, s)
			}
		}
		s.Go, s.Rev, s.Build = "", "", nil
	}
	return s, nil
}

func (o *imageFlags) run(cmd *cobra.Command, s *dyno.Subject) (err error) {
	if o.tag != "" { // before the build, which may take long
		if _, err := image.ParseName(o.tag); err != nil {
			return flags.Mistakef("--tag: %w", err)
		}
	}
	builder, err := subject.NewBuilder("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, builder.Close()) }()
	built, err := build(cmd, builder, s)
	if err != nil {
		return err
	}
	arch, err := image.Static(built.Path)
	if err != nil {
		return fmt.Errorf("make an image: %w%s", err, o.cure(s, err))
	}
	i, err := o.image(built, arch)
	if err != nil {
		return err
	}
	file := cmp.Or(o.out, filepath.Base(i.Path)+".tar")
	digest, size, err := i.WriteFile(file)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s %.1f MiB\n", i.Name, digest, float64(size)/(1<<20)); err != nil {
		return err
	}
	next(cmd, file, i.Name)
	return nil
}

func build(cmd *cobra.Command, builder *subject.Builder, s *dyno.Subject) (*subject.Built, error) {
	w := cmd.ErrOrStderr()
	if s.Source() {
		p := progress.NewBuild(w, s.String())
		defer p.Close()
		builder.Tell = p.Step
	}
	built, err := builder.Build(cmd.Context(), *s)
	if err == nil {
		for _, warning := range built.Warnings {
			fmt.Fprintf(w, "note: %s\n", warning.Text)
		}
	}
	return built, err
}

// cure is what makes a static executable of the subject.
func (o *imageFlags) cure(s *dyno.Subject, err error) string {
	switch {
	case !errors.Is(err, image.ErrNotStatic):
		return ""
	case o.agent && runtime.GOOS != "linux":
		return " (consider: GOOS=linux CGO_ENABLED=0 go build github.com/dynolab/dyno/cmd/dyno, and run that on linux)"
	case o.agent:
		return " (consider: CGO_ENABLED=0 go install github.com/dynolab/dyno/cmd/dyno@latest)"
	case s.Binary != "":
		return " (consider: its package, or GOOS=linux CGO_ENABLED=0 go build)"
	}
	return " (consider: --build without -buildmode and -linkmode)"
}

// image says what is in the image. It sets no variable: who launches a container tells the probe where
// to listen.
func (o *imageFlags) image(built *subject.Built, arch string) (*image.Image, error) {
	program := strings.TrimSuffix(filepath.Base(built.Path), ".exe")
	i := &image.Image{
		Binary: built.Path, Arch: arch, Path: "/bin/" + program, Certs: image.Certs(),
		Labels: map[string]string{"dev.dyno.injected": strconv.FormatBool(built.Injected), "dev.dyno.sum": built.Sum},
	}
	tag := image.PathOf(program) + ":latest"
	if o.agent {
		i.Path, i.Cmd, tag = "/dyno", []string{"agent"}, "dyno:"+ofTags.Replace(o.version)
	}
	if built.Go != "" {
		i.Labels["dev.dyno.go"] = built.Go
	}
	if built.Rev != "" {
		i.Labels["org.opencontainers.image.revision"] = built.Rev
	}
	var err error
	i.Name, err = image.ParseName(cmp.Or(o.tag, tag))
	return i, err
}

// next says how to use the file.
func next(cmd *cobra.Command, file string, name image.Name) {
	w, there := cmd.ErrOrStderr(), name.String()
	if name.Host == "" {
		there = "REGISTRY/" + there
	}
	fmt.Fprintf(w, `wrote %[1]s; next, one of:
    kind load image-archive %[1]s
    ctr -n k8s.io images import %[1]s          # on each node
    docker load -i %[1]s                       # podman, too
    skopeo copy oci-archive:%[1]s docker://%[2]s   # keeps the digest
    crane push %[1]s %[2]s
`, file, there)
	if name.Tag == "latest" {
		fmt.Fprintln(w, "note: Kubernetes pulls images with the tag latest (consider: imagePullPolicy: IfNotPresent, or another --tag)")
	}
}
