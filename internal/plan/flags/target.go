package flags

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// Target says what a command's argument means as a subject, and names the
// experiment after it if it has no name.
func Target(e *dyno.Experiment, arg string) error {
	if strings.Contains(arg, "://") {
		return TargetURL(e, arg)
	}
	s := &e.Subject
	s.Package, s.Module, s.Binary, s.URL, s.PID, s.Process = "", "", "", "", 0, ""
	abs, err := filepath.Abs(arg)
	if err != nil {
		return err
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		s.Package = abs
	case err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0:
		s.Binary = abs
	case err == nil:
		return Mistakef("%s is neither a directory nor an executable file", arg)
	case !errors.Is(err, fs.ErrNotExist):
		return Mistakef("%v", err)
	case strings.Contains(arg, "@"):
		s.Module = arg
	case strings.HasPrefix(arg, ".") || filepath.IsAbs(arg):
		return Mistakef("%s does not exist", arg)
	case versions(e) != nil:
		s.Module = arg + "@" + versions(e)[0]
	default:
		s.Package = arg // an import path
	}
	path, _, _ := strings.Cut(abs, "@")
	e.Name = cmp.Or(e.Name, filepath.Base(path))
	return nil
}

// versions are the levels of factor version; nil if it is not varied.
func versions(e *dyno.Experiment) (levels []string) {
	for _, l := range slices.Concat(e.Levels()...) {
		if l.Factor == "version" {
			levels = append(levels, l.Value)
		}
	}
	return levels
}

// Packages says what the arguments of bench mean: packages of the module here, or of a published one, such as
// example.org/x/...@v1.2.0. Where versions are varied, the arguments need none. It names the experiment after a
// published module, if it has no name.
func Packages(e *dyno.Experiment, args []string) error {
	b, s := e.Bench, &e.Subject
	if len(args) > 0 {
		b.Packages, s.Dir, s.Module = args, "", ""
	}
	varied := versions(e)
	version := ""
	for _, p := range b.Packages {
		_, v, _ := strings.Cut(p, "@")
		if v != "" && version != "" && v != version {
			return Mistakef("packages are of versions %s and %s (want one version; --vary version=%[1]s,%[2]s compares them)", version, v)
		}
		version = cmp.Or(version, v)
	}
	if version == "" && len(varied) > 0 && s.Module == "" {
		version = varied[0]
	}
	if version == "" {
		return nil
	}
	if len(b.Packages) == 0 {
		return Mistakef("factor version needs the packages of a published module (want for example dyno bench example.org/x/... --vary version=%s)", strings.Join(varied, ","))
	}
	packages := make([]string, len(b.Packages)) // the plan's own stay
	for i, p := range b.Packages {
		packages[i], _, _ = strings.Cut(p, "@")
	}
	first := strings.TrimSuffix(packages[0], "/...")
	if element, _, _ := strings.Cut(first, "/"); strings.HasPrefix(first, ".") || !strings.Contains(element, ".") {
		return Mistakef("%s is no import path of a published module (want for example example.org/x/...@%s; factor rev compares revisions of a repository)", packages[0], version)
	}
	b.Packages, s.Module = packages, first+"@"+version
	e.Name = cmp.Or(e.Name, path.Base(first))
	return nil
}
