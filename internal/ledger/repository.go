package ledger

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/dynolab/dyno/internal/git"
)

// A repository keeps its files in the tree of the commit that a ref points to. It reads and writes objects and that ref
// alone: not the working tree, the index or HEAD; no hooks run. The last step of a change moves the ref, if nobody else has
// moved it.
type repository struct {
	dir, top, ref string
}

// openRepository opens the one that git finds from dir.
func openRepository(ctx context.Context, dir, ref string) (*repository, error) {
	r := &repository{dir: dir, ref: ref}
	if _, err := r.git(ctx, nil, "check-ref-format", ref); err != nil || !strings.HasPrefix(ref, "refs/") {
		return nil, fmt.Errorf("%s is no name of a ref (want one such as %s)", ref, DefaultRef)
	}
	found, err := r.git(ctx, nil, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return nil, err
	}
	r.top = found
	if tree, err := r.git(ctx, nil, "rev-parse", "--show-toplevel"); err == nil && tree != "" {
		r.top = tree // a bare repository has none
	}
	return r, nil
}

func (r *repository) String() string { return r.ref + " of " + r.top }

// git runs git with input and returns what it prints, without the last newline.
func (r *repository) git(ctx context.Context, input []byte, args ...string) (string, error) {
	return git.Run(ctx, r.dir, input, args...)
}

// A reader reads objects, all by one process.
type reader struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	pipe   io.ReadCloser
	out    *bufio.Reader // of pipe
	stderr bytes.Buffer
}

// reader starts one; whoever asked for it must close it.
func (r *repository) reader(ctx context.Context) (*reader, error) {
	o := &reader{cmd: git.Command(ctx, r.dir, "cat-file", "--batch")}
	o.cmd.Stderr = &o.stderr
	var err error
	if o.in, err = o.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if o.pipe, err = o.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	o.out = bufio.NewReaderSize(o.pipe, 64<<10)
	if err := o.cmd.Start(); err != nil {
		return nil, git.Error(ctx, "cat-file", err, "")
	}
	return o, nil
}

func (o *reader) close() {
	o.in.Close()
	o.pipe.Close() // git may be writing what nobody wants
	o.cmd.Wait()   // what went wrong is known by what get could not read
}

// get returns an object by its name; its hash is "" if there is none.
func (o *reader) get(ctx context.Context, name string) (hash, kind string, data []byte, err error) {
	hash, kind, data, err = o.exchange(name)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) {
		o.close() // so that stderr is complete
		err = git.Error(ctx, "cat-file", err, o.stderr.String())
	}
	return hash, kind, data, err
}

// exchange speaks the protocol of git cat-file --batch.
func (o *reader) exchange(name string) (hash, kind string, data []byte, err error) {
	if _, err := io.WriteString(o.in, name+"\n"); err != nil {
		return "", "", nil, err
	}
	line, err := o.out.ReadString('\n')
	if err != nil || strings.HasSuffix(line, " missing\n") {
		return "", "", nil, err
	}
	var size int
	if _, err := fmt.Sscanf(line, "%s %s %d\n", &hash, &kind, &size); err != nil {
		return "", "", nil, fmt.Errorf("git cat-file: %q", line)
	}
	if size > mostBytes {
		return "", "", nil, fmt.Errorf("object %s has %d bytes, more than dyno reads of it", hash, size)
	}
	data = make([]byte, size+1) // a newline follows it
	_, err = io.ReadFull(o.out, data)
	return hash, kind, data[:size], err
}

// A file is an entry of a tree.
type file struct{ mode, hash string }

// A state is a commit of the ref, with the files of its tree. The zero value is that of a ref that is not there.
type state struct {
	commit string
	files  map[string]file
}

func (o *reader) state(ctx context.Context, name string) (s state, err error) {
	if s.commit, _, _, err = o.get(ctx, name+"^{commit}"); err != nil || s.commit == "" {
		return state{}, err
	}
	tree, _, data, err := o.get(ctx, s.commit+"^{tree}")
	if err == nil && tree == "" {
		err = fmt.Errorf("git cat-file: the tree of %s is missing", s.commit)
	}
	if err != nil {
		return state{}, err
	}
	s.files = map[string]file{}
	for len(data) > 0 { // MODE SPACE NAME NUL, and the hash as bytes
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, ok2 := strings.Cut(string(head), " ")
		n := len(tree) / 2
		if !ok || !ok2 || len(rest) < n {
			return state{}, fmt.Errorf("git cat-file: tree %s cannot be read", tree)
		}
		s.files[name] = file{mode, hex.EncodeToString(rest[:n])}
		data = rest[n:]
	}
	return s, nil
}

// text returns a file of a state, which may be missing.
func (o *reader) text(ctx context.Context, f file) ([]byte, error) {
	if f.hash == "" {
		return nil, nil
	}
	hash, kind, data, err := o.get(ctx, f.hash)
	if err == nil && (hash == "" || kind != "blob") {
		err = fmt.Errorf("git cat-file: %s is no blob of the repository", f.hash)
	}
	return data, err
}

func (r *repository) read(ctx context.Context, each func(file string, text []byte)) error {
	o, err := r.reader(ctx)
	if err != nil {
		return err
	}
	defer o.close()
	s, err := o.state(ctx, r.ref)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		if !isLines(name) {
			continue
		}
		text, err := o.text(ctx, s.files[name])
		if err != nil {
			return err
		}
		each(name, text)
	}
	return nil
}

func (r *repository) add(ctx context.Context, files map[string][][]byte, keep []string) error {
	return contend(ctx, func() error {
		o, err := r.reader(ctx)
		if err != nil {
			return err
		}
		defer o.close()
		old, err := o.state(ctx, r.ref)
		if err != nil {
			return err
		}
		now, added := maps.Clone(old.files), 0
		if now == nil {
			now = map[string]file{}
		}
		for name, lines := range files {
			text, err := o.text(ctx, old.files[name])
			if err != nil {
				return err
			}
			merged, n, err := union(text, lines...)
			if err != nil {
				return err
			}
			if bytes.Equal(merged, text) {
				continue
			}
			added += n
			if now[name], err = r.write(ctx, merged); err != nil {
				return err
			}
		}
		anchors, err := r.anchors(ctx, o, old.commit, keep)
		if err != nil || maps.Equal(now, old.files) && len(anchors) == 0 {
			return err
		}
		parents := anchors
		if old.commit != "" {
			parents = append([]string{old.commit}, anchors...)
		}
		commit, err := r.commit(ctx, now, parents, fmt.Sprintf("dyno: lines added: %d", added))
		if err != nil {
			return err
		}
		return r.move(ctx, r.ref, commit, old.commit)
	})
}

// anchors are the commits to be kept that a commit of the ref does not keep yet.
func (r *repository) anchors(ctx context.Context, o *reader, commit string, keep []string) (anchors []string, err error) {
	for _, k := range keep {
		var hash, kind string
		if k != "" && strings.Trim(k, "0123456789abcdef") == "" {
			if hash, kind, _, err = o.get(ctx, k); err != nil {
				return nil, err
			}
		}
		if hash != k || kind != "commit" {
			return nil, fmt.Errorf("keep %q: no commit of the repository has that full hash (consider: git fetch)", k)
		}
		if slices.Contains(anchors, k) || commit != "" && r.reaches(ctx, commit, k) {
			continue
		}
		anchors = append(anchors, k)
	}
	return anchors, ctx.Err()
}

// reaches reports whether a commit is an ancestor of another, or the same. It is false of one that is not here.
func (r *repository) reaches(ctx context.Context, commit, ancestor string) bool {
	_, err := r.git(ctx, nil, "merge-base", "--is-ancestor", ancestor, commit)
	return err == nil
}

// write makes a file of a tree.
func (r *repository) write(ctx context.Context, text []byte) (file, error) {
	hash, err := r.git(ctx, text, "hash-object", "-w", "--stdin")
	return file{"100644", hash}, err
}

// commit makes one that nothing refers to yet.
func (r *repository) commit(ctx context.Context, files map[string]file, parents []string, message string) (string, error) {
	var list bytes.Buffer
	for name, f := range files {
		kind := "blob"
		switch f.mode {
		case "40000":
			kind = "tree"
		case "160000":
			kind = "commit"
		}
		fmt.Fprintf(&list, "%s %s %s\t%s\x00", f.mode, kind, f.hash, name)
	}
	tree, err := r.git(ctx, list.Bytes(), "mktree", "-z", "--missing") // sorts
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", "--no-gpg-sign", "-m", message}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return r.git(ctx, nil, append(args, tree)...)
}

// move points a ref to another commit, unless somebody else has moved it. old is "" if it was not there.
func (r *repository) move(ctx context.Context, ref, commit, old string) error {
	if _, err := r.git(ctx, nil, "update-ref", ref, commit, old); err != nil {
		return &lostError{old, err}
	}
	return nil
}
