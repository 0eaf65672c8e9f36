package web

import (
	"cmp"
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

	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/safe"
)

const (
	mostShown  = 16 << 20 // bytes of a text that is shown; larger ones are saved
	mostListed = 5000     // files of a folder
)

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

// A row is a line of a list of files.
type row struct {
	Name, URL, Save string
	Size            string // "" of a folder
	Time            time.Time
}

// open opens a file or a folder of a run. os.Root keeps dots and links from leading out
// of the run directory.
func (p foundDir) open(name string) (f *os.File, info fs.FileInfo, err error) {
	root, err := os.OpenRoot(p.path)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	if f, err = root.OpenFile(name, safe.Quickly, 0); err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = fs.ErrInvalid // a pipe would never be done
	}
	if err != nil {
		f.Close()
	}
	return f, info, err
}

// files lists a folder of a run, or sends a file of it.
func (s *Site) files(w http.ResponseWriter, r *http.Request, p foundDir) error {
	name, slash := strings.CutSuffix(r.PathValue("name"), "/")
	name = cmp.Or(name, ".")
	none := refuse(http.StatusNotFound, "There is no such file in the run directory.")
	if !fs.ValidPath(name) {
		return none
	}
	f, info, err := p.open(name)
	if err != nil {
		return none
	}
	defer f.Close()
	switch {
	case !info.IsDir():
		file(w, r, f, info)
	case !slash && name != ".":
		http.Redirect(w, r, fileURL(p, name)+"/", http.StatusMovedPermanently)
	default:
		return s.folder(w, r, p, f, name)
	}
	return nil
}

func fileURL(p foundDir, name string) string { return path.Join(runURL(p.ID), "files", escaped(name)) }

// folder lists a folder of a run.
func (s *Site) folder(w http.ResponseWriter, r *http.Request, p foundDir, f *os.File, name string) error {
	entries, err := f.ReadDir(mostListed + 1)
	if err != nil && err != io.EOF {
		return fmt.Errorf("The folder cannot be read: %w", err)
	}
	note := ""
	if len(entries) > mostListed {
		entries, note = entries[:mostListed], fmt.Sprintf("Only %d of its files are listed; there are more.", mostListed)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var list []row
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.IsDir() && !e.Type().IsRegular() {
			continue
		}
		f := row{Name: short(e.Name()), URL: fileURL(p, path.Join(name, e.Name())), Time: info.ModTime()}
		if e.IsDir() {
			f.Name, f.URL = f.Name+"/", f.URL+"/"
		} else {
			f.Size, f.Save = layout.Number("file-B", float64(info.Size()))(float64(info.Size())), f.URL+"?save=1"
		}
		list = append(list, f)
	}
	title, up := p.ID, "" // URL of the folder above; "" of the run directory itself
	if name != "." {
		title, up = title+"/"+name, fileURL(p, path.Dir(name))+"/"
	}
	s.show(w, r, http.StatusOK, "files.tmpl", sheet{Title: "Files of " + short(title), Body: struct {
		ID, Up, Note string
		Files        []row
	}{p.ID, up, note, list}})
	return nil
}

// file sends a file to be saved, or as text.
func file(w http.ResponseWriter, r *http.Request, f *os.File, info fs.FileInfo) {
	kind := "text/plain; charset=utf-8"
	if r.FormValue("save") != "" || info.Size() > mostShown || !slices.Contains(texts, path.Ext(info.Name())) {
		kind = "application/octet-stream"
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": info.Name()}))
		http.NewResponseController(w).SetWriteDeadline(time.Time{}) // it may be gigabytes
	}
	send(w, r, f, info, kind, filePolicy)
}

func send(w http.ResponseWriter, r *http.Request, f *os.File, info fs.FileInfo, kind, policy string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// saved shows a page that lies in the directory of a run or a campaign.
func (s *Site) saved(w http.ResponseWriter, r *http.Request, p foundDir, name string) error {
	f, info, err := p.open(name)
	switch {
	case err == nil && !info.IsDir():
	case name == "report.html":
		return refuse(http.StatusNotFound, "The run has no report.html (consider: dyno report %s --format html).", p.path)
	default:
		return refuse(http.StatusNotFound, "There is no answer yet.")
	}
	defer f.Close()
	send(w, r, f, info, "text/html; charset=utf-8", savedPolicy)
	return nil
}
