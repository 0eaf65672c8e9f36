package ledger

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
)

// sync brings what the remote has, merges it, and sends the outcome. It begins again if somebody else has sent meanwhile.
func (r *repository) sync(ctx context.Context, remote string) (result SyncResult, err error) {
	remote = cmp.Or(remote, "origin")
	err = contend(ctx, func() error {
		theirs, err := r.fetch(ctx, remote)
		if err != nil {
			return err
		}
		commit, step, err := r.merge(ctx, theirs)
		if err != nil {
			return err
		}
		result.Received, result.Sent = result.Received+step.Received, step.Sent
		if commit == theirs {
			return nil
		}
		return r.push(ctx, remote, commit, theirs)
	})
	if err != nil {
		if u, e := url.Parse(remote); e == nil {
			remote = u.Redacted()
		}
		return SyncResult{}, fmt.Errorf("sync %s with %s: %w", r, remote, err)
	}
	return result, nil
}

// fetched is the ref for what came from a remote last, so that git keeps it until it is merged.
func (r *repository) fetched(remote string) string {
	sum := sha256.Sum256([]byte(remote + "\x00" + r.ref))
	return "refs/dyno/remotes/" + hex.EncodeToString(sum[:8])
}

// fetch returns the commit of the remote's ref, which then is here, too; "" if the remote has none. It leaves alone what
// the user's settings say about a fetch: in a mirror, they would replace the ref.
func (r *repository) fetch(ctx context.Context, remote string) (string, error) {
	refs, err := r.git(ctx, nil, "ls-remote", "--quiet", "--refs", "--", remote, r.ref)
	if err != nil {
		return "", err
	}
	commit := ""
	for line := range strings.Lines(refs) { // the pattern may match the end of another ref
		if hash, ref, _ := strings.Cut(strings.TrimSpace(line), "\t"); ref == r.ref {
			commit = hash
		}
	}
	if commit == "" || r.reaches(ctx, r.ref, commit) {
		return commit, nil
	}
	args := []string{"-c", "gc.auto=0", "-c", "maintenance.auto=false", "fetch", "--quiet", "--no-write-fetch-head", "--no-tags", "--no-prune", "--no-recurse-submodules", "--refmap="}
	if r.shallow(ctx) { // what is kept has the history that the clone does without
		args = append(args, "--depth=1")
	}
	if _, err := r.git(ctx, nil, append(args, "--", remote, "+"+r.ref+":"+r.fetched(remote))...); err != nil {
		return "", &lostError{commit, err} // another process may fetch just now
	}
	return r.git(ctx, nil, "rev-parse", "--verify", r.fetched(remote)+"^{commit}")
}

func (r *repository) shallow(ctx context.Context) bool {
	is, err := r.git(ctx, nil, "rev-parse", "--is-shallow-repository")
	return err == nil && is == "true"
}

// merge moves the ref to a commit that has all of it, and all of a remote's commit. It returns that commit. Either may be "".
func (r *repository) merge(ctx context.Context, remote string) (commit string, step SyncResult, err error) {
	o, err := r.reader(ctx)
	if err != nil {
		return "", step, err
	}
	defer o.close()
	ours, err := o.state(ctx, r.ref)
	if err != nil {
		return "", step, err
	}
	var theirs state
	if remote != "" {
		if theirs, err = o.state(ctx, remote); err != nil {
			return "", step, err
		}
	}
	files, step, err := r.mergeFiles(ctx, o, ours.files, theirs.files)
	switch {
	case err != nil:
		return "", step, err
	case ours.commit == theirs.commit || theirs.commit == "" || r.reaches(ctx, ours.commit, theirs.commit):
		return ours.commit, step, nil
	case ours.commit == "" || r.reaches(ctx, theirs.commit, ours.commit):
		commit = theirs.commit
	default:
		if commit, err = r.commit(ctx, files, []string{ours.commit, theirs.commit}, "dyno: merge"); err != nil {
			return "", step, err
		}
	}
	return commit, step, r.move(ctx, r.ref, commit, ours.commit)
}

// mergeFiles returns the union of two trees. A file that has no lines is ours, if both have it.
func (r *repository) mergeFiles(ctx context.Context, o *reader, ours, theirs map[string]file) (files map[string]file, step SyncResult, err error) {
	files = map[string]file{}
	maps.Copy(files, theirs)
	maps.Copy(files, ours)
	for name := range files {
		if ours[name] == theirs[name] || !isLines(name) {
			continue
		}
		text, err := o.text(ctx, ours[name])
		if err != nil {
			return nil, step, err
		}
		other, err := o.text(ctx, theirs[name])
		if err != nil {
			return nil, step, err
		}
		merged, received, err := union(text, bytes.Split(other, []byte("\n"))...)
		if err != nil {
			return nil, step, err
		}
		_, sent, err := union(other, bytes.Split(text, []byte("\n"))...)
		if err != nil {
			return nil, step, err
		}
		step.Received, step.Sent = step.Received+received, step.Sent+sent
		if files[name], err = r.write(ctx, merged); err != nil {
			return nil, step, err
		}
	}
	return files, step, nil
}

// push moves the remote's ref, without force: the remote refuses it if somebody else has moved it.
func (r *repository) push(ctx context.Context, remote, commit, old string) error {
	_, err := r.git(ctx, nil, "-c", "advice.pushUpdateRejected=false", "push", "--quiet", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no", "--", remote, commit+":"+r.ref)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case strings.Contains(err.Error(), "shallow update not allowed"):
		return errors.New("the remote lacks history that this shallow clone lacks, too (consider: git fetch --unshallow, or fetch-depth: 0 of actions/checkout)")
	}
	return &lostError{old, err} // if it was for another reason, the next tries meet the same commit
}
