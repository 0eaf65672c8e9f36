package image

import (
	"fmt"
	"regexp"
	"strings"
)

// A Name names an image, such as server:latest or registry.example.com/team/server:v1.
type Name struct {
	Host string // of the registry; "" as in server:latest means docker.io
	Path string
	Tag  string
}

// See github.com/distribution/reference, reference.go.
var (
	hosts = regexp.MustCompile(`^[A-Za-z0-9]+((\.|-+)[A-Za-z0-9]+)*(:[0-9]+)?$`)
	paths = regexp.MustCompile(`^[a-z0-9]+(([._]|__|-+|/)[a-z0-9]+)*$`)
	tags  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	other = regexp.MustCompile(`[^a-z0-9]+`)
)

// ParseName reads a name. Without a tag it is latest.
func ParseName(s string) (Name, error) {
	var n Name
	rest := s
	if first, after, ok := strings.Cut(s, "/"); ok && (strings.ContainsAny(first, ".:") || first == "localhost") {
		n.Host, rest = first, after
	}
	tagged := false
	if n.Path, n.Tag, tagged = strings.Cut(rest, ":"); !tagged {
		n.Tag = "latest"
	}
	if n.Host != "" && !hosts.MatchString(n.Host) || !paths.MatchString(n.Path) || !tags.MatchString(n.Tag) {
		return Name{}, fmt.Errorf("bad image name %q (want lower case, for example server:latest or registry.example.com/team/server:v1)", s)
	}
	return n, nil
}

// PathOf makes the path of a name from a word, such as that of a program.
func PathOf(word string) string {
	if p := strings.Trim(other.ReplaceAllString(strings.ToLower(word), "-"), "-"); p != "" {
		return p
	}
	return "image"
}

// String is the name as it is written, with its tag.
func (n Name) String() string {
	if n.Host == "" {
		return n.Path + ":" + n.Tag
	}
	return n.Host + "/" + n.Path + ":" + n.Tag
}

// Full is the name as clusters keep it: docker.io/library/server:latest.
func (n Name) Full() string {
	if n.Host == "" || n.Host == "docker.io" {
		if n.Host = "docker.io"; !strings.Contains(n.Path, "/") {
			n.Path = "library/" + n.Path
		}
	}
	return n.String()
}
