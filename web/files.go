package web

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno/web/safe"
)

// mostShown is how many bytes of each end of a text are shown. All of it can be saved.
const mostShown = 1 << 20

// mostListed is how many files of a folder are listed.
const mostListed = 5000

// texts are the names of files that a browser shows, by their ends.
var texts = []string{".json", ".jsonl", ".txt", ".log", ".csv", ".yaml", ".hlog", ".hgrm", ".md", ".go"}

// savedPolicy lets a saved report run its own scripts, without access to this server.
const savedPolicy = "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; " +
	"img-src data: blob:; frame-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// filePolicy is what a file may do: nothing.
const filePolicy = "sandbox; default-src 'none'; frame-ancestors 'none'"

func exists(dir, name string) bool {
	info, err := os.Lstat(filepath.Join(dir, name))
	return err == nil && info.Mode().IsRegular()
}

// A file is a line of a list of files.
type file struct {
	Name, URL, Save string
	Size            string // "" of a folder
	Time            time.Time
}

// files lists a folder of a run, or sends a file of it. os.Root keeps dots and links
// from leading out of the run directory.
func (s *Site) files(w http.ResponseWriter, r *http.Request, p place) {
	name, slash := strings.CutSuffix(strings.TrimPrefix(r.PathValue("rest"), "files"), "/")
	if name = strings.TrimPrefix(name, "/"); name == "" {
		name = "."
	}
	if !fs.ValidPath(name) || strings.ContainsAny(name, "\\") {
		s.fail(w, r, http.StatusNotFound, "There is no such file in the run directory.")
		return
	}
	root, err := os.OpenRoot(p.path)
	if err != nil {
		s.fail(w, r, http.StatusNotFound, "The run directory cannot be opened (any more).")
		return
	}
	defer root.Close()
	info, err := root.Stat(name)
	switch {
	case err != nil:
		s.fail(w, r, http.StatusNotFound, "There is no such file in the run directory.")
	case info.IsDir() && !slash:
		http.Redirect(w, r, fileURL(p, name)+"/", http.StatusMovedPermanently)
	case info.IsDir():
		s.folder(w, r, p, root, name)
	case !info.Mode().IsRegular(): // a pipe would never be done
		s.fail(w, r, http.StatusForbidden, "That is no file: "+info.Mode().Type().String())
	default:
		s.file(w, r, root, name)
	}
}

func fileURL(p place, name string) string { return path.Join(runURL(p.ID), "files", escaped(name)) }

// folder lists a folder of a run.
func (s *Site) folder(w http.ResponseWriter, r *http.Request, p place, root *os.Root, name string) {
	f, err := root.Open(name)
	if err != nil {
		s.fail(w, r, http.StatusNotFound, "There is no such folder in the run directory.")
		return
	}
	defer f.Close()
	entries, err := f.ReadDir(mostListed + 1)
	if err != nil && err != io.EOF {
		s.fail(w, r, http.StatusInternalServerError, "The folder cannot be read: "+err.Error())
		return
	}
	note := ""
	if len(entries) > mostListed {
		entries, note = entries[:mostListed], fmt.Sprintf("Only %d of its files are listed; there are more.", mostListed)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var list []file
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.IsDir() && !e.Type().IsRegular() {
			continue
		}
		f := file{Name: short(e.Name()), URL: fileURL(p, path.Join(name, e.Name())), Time: info.ModTime()}
		if e.IsDir() {
			f.Name, f.URL = f.Name+"/", f.URL+"/"
		} else {
			f.Size, f.Save = size(info.Size()), f.URL+"?save=1"
		}
		list = append(list, f)
	}
	title := p.ID
	if name != "." {
		title += "/" + name
	}
	s.show(w, r, http.StatusOK, "files.tmpl", sheet{Title: "Files of " + short(title), Body: struct {
		ID    string
		Up    string // URL of the folder above; "" of the run directory itself
		Note  string
		Files []file
	}{p.ID, map[bool]string{true: "", false: fileURL(p, path.Dir(name)) + "/"}[name == "."], note, list}})
}

func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// open opens a regular file of a run and sets the headers that all files have. It
// has answered the request if f is nil.
func (s *Site) open(w http.ResponseWriter, r *http.Request, root *os.Root, name, policy string) (f *os.File, info fs.FileInfo) {
	f, err := root.OpenFile(name, safe.Quickly, 0)
	if err == nil {
		if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
			err = fs.ErrInvalid
		}
	}
	if err != nil {
		f.Close()
		s.fail(w, r, http.StatusNotFound, "There is no such file in the run directory.")
		return nil, nil
	}
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Cache-Control", "no-cache")
	return f, info
}

// file sends a file as text, of a long one both ends, or to be saved.
func (s *Site) file(w http.ResponseWriter, r *http.Request, root *os.Root, name string) {
	f, info := s.open(w, r, root, name, filePolicy)
	if f == nil {
		return
	}
	defer f.Close()
	h := w.Header()
	if r.FormValue("save") != "" || !slices.Contains(texts, path.Ext(name)) {
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(name)}))
		http.NewResponseController(w).SetWriteDeadline(time.Time{}) // it may be gigabytes
		http.ServeContent(w, r, "", info.ModTime(), f)
		return
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	if info.Size() <= 2*mostShown {
		http.ServeContent(w, r, "", info.ModTime(), f)
		return
	}
	if err := ends(w, f, info.Size()); err != nil {
		panic(http.ErrAbortHandler) // so that it does not look whole
	}
}

// ends writes the first and the last lines of a text.
func ends(w io.Writer, f io.ReaderAt, size int64) error {
	head, tail := make([]byte, mostShown), make([]byte, mostShown)
	if _, err := f.ReadAt(head, 0); err != nil {
		return err
	}
	if _, err := f.ReadAt(tail, size-mostShown); err != nil && err != io.EOF {
		return err
	}
	if i := bytes.LastIndexByte(head, '\n'); i >= 0 {
		head = head[:i+1]
	}
	if i := bytes.IndexByte(tail, '\n'); i >= 0 {
		tail = tail[i+1:]
	}
	left := size - int64(len(head)+len(tail))
	_, err := fmt.Fprintf(w, "%s\n[dyno: %d of %d bytes are left out here; ?save=1 saves all of them]\n\n%s", head, left, size, tail)
	return err
}

// saved shows the report that a run was saved with.
func (s *Site) saved(w http.ResponseWriter, r *http.Request, p place) {
	root, err := os.OpenRoot(p.path)
	if err == nil {
		defer root.Close()
		_, err = root.Stat("report.html")
	}
	if err != nil {
		s.fail(w, r, http.StatusNotFound, "The run has no report.html (consider: dyno report "+p.path+" --format html).")
		return
	}
	f, info := s.open(w, r, root, "report.html", savedPolicy)
	if f == nil {
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	http.ServeContent(w, r, "", info.ModTime(), f)
}
