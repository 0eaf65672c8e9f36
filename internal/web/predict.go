package web

import (
	"bytes"
	"net/http"

	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/report/html"
	"github.com/dynolab/dyno/internal/report/prediction"
	"github.com/dynolab/dyno/internal/store"
)

// forecast is the link to what is predicted from a run of a service.
func forecast(p foundDir, dir *store.Dir) []html.File {
	if dir.Run.Plan.Bench != nil || dir.Run.Plan.Slice > 0 {
		return nil
	}
	return []html.File{{Name: "other values of GOGC and GOMEMLIMIT, predicted", URL: runURL(p.ID) + "predicted"}}
}

// predicted shows what dyno predict says of a run.
func (s *Site) predicted(w http.ResponseWriter, r *http.Request, dir *store.Dir) error {
	leave, err := s.enter(r, dir.Path)
	if err != nil {
		return err
	}
	defer leave()
	source, err := predict.Read(dir, predict.Options{})
	if err != nil {
		return refuse(http.StatusNotFound, "There is no prediction: %s.", err)
	}
	var b bytes.Buffer
	if err := prediction.HTML(&b, source.Forecast(source.Fit(), predict.Question{Live: 1})); err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", savedPolicy)
	w.Write(b.Bytes())
	return nil
}
