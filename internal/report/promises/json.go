package promises

import (
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/findings/receipts"
	"github.com/dynolab/dyno/internal/receipt"
)

// The shapes of the JSON, which doc/format.md describes.
type (
	rateJSON struct {
		From      string                 `json:"from,omitempty"`
		Metric    string                 `json:"metric,omitempty"`
		Change    bool                   `json:"change,omitempty"`
		Held      float64                `json:"held"`
		Missed    float64                `json:"missed"`
		Untold    int                    `json:"untold"`
		Reasons   map[receipt.Reason]int `json:"reasons,omitempty"`
		Corrected int                    `json:"corrected"`
		Promised  dyno.Number            `json:"promised-frac"`
		Share     dyno.Number            `json:"held-frac"`
		Lo        dyno.Number            `json:"lo"`
		Hi        dyno.Number            `json:"hi"`
	}
	ratesJSON struct {
		All     rateJSON   `json:"all"`
		Doubted rateJSON   `json:"doubted"`
		Each    []rateJSON `json:"each"`
	}
	heldJSON struct {
		File string `json:"file"`
		receipt.Check
		Late bool `json:"late,omitempty"`
	}
	checkJSON struct {
		answer.Envelope[answer.Setting, string]

		After  string     `json:"after"`
		Checks []heldJSON `json:"checks"`
		Rates  ratesJSON  `json:"rates"`
		Unread []string   `json:"unread"`
	}
	receiptJSON struct {
		File     string     `json:"file"`
		ID       string     `json:"id"`
		From     string     `json:"from"`
		Name     string     `json:"name"`
		Made     time.Time  `json:"made"`
		Promises int        `json:"promises"`
		Checks   int        `json:"checks"`
		Each     []rateJSON `json:"each"`
	}
	listJSON struct {
		answer.Envelope[answer.Setting, string]

		Root     string        `json:"root"`
		Receipts []receiptJSON `json:"receipts"`
		Rates    ratesJSON     `json:"rates"`
		Unread   []string      `json:"unread"`
	}
)

// JSON is the check as an object for package report.
func (c *Checked) JSON(h answer.Head) any {
	j := checkJSON{After: c.After.Path, Checks: []heldJSON{}, Rates: c.Rates.json(), Unread: texts(c.Left)}
	var settings []answer.Setting
	for i := range c.After.Settings {
		settings = append(settings, answer.SettingOf(c.After.Settings[i].Levels))
	}
	for _, x := range c.Held {
		j.Checks = append(j.Checks, heldJSON{x.Path, x.Check, x.Late})
	}
	j.Envelope = answer.New[answer.Setting, string](receipt.CheckKind, receipt.Schema, h, settings, nil)
	return j
}

// JSON is the list as an object for package report.
func (l *List) JSON(h answer.Head) any {
	rates := RatesOf(l.Kept)
	j := listJSON{Root: l.Root, Receipts: []receiptJSON{}, Rates: rates.json(), Unread: texts(l.Left)}
	for _, k := range l.Kept {
		each := RatesOf([]*receipts.Kept{k}).Each
		j.Receipts = append(j.Receipts, receiptJSON{k.Path, k.ID, k.From, k.Name, k.Made, len(k.Promises), len(k.Checks), ratesOf(each)})
	}
	j.Envelope = answer.New[answer.Setting, string]("receipts", receipt.Schema, h, nil, nil)
	return j
}

func texts(errs []error) []string {
	all := []string{}
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return all
}

func (r *Rates) json() ratesJSON {
	return ratesJSON{All: rateOf(&r.All), Doubted: rateOf(&r.Doubted), Each: ratesOf(r.Each)}
}

func ratesOf(rs []receipt.Rate) []rateJSON {
	all := []rateJSON{}
	for i := range rs {
		all = append(all, rateOf(&rs[i]))
	}
	return all
}

func rateOf(r *receipt.Rate) rateJSON {
	return rateJSON{r.From, r.Metric, r.Change, r.Held, float64(r.Told) - r.Held, r.Untold, r.Reasons, r.Corrected, dyno.Number(r.Level), dyno.Number(r.Share), dyno.Number(r.Lo), dyno.Number(r.Hi)}
}
