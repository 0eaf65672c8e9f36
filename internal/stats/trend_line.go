package stats

import "math"

// mostPhi bounds autocorrelation, as the variance is infinite at 1. judgement.steps covers
// what is more persistent.
const mostPhi = 0.97

// A line is the least-squares line, with noise that is autoregressive of order 1.
type line struct {
	series
	slope    float64
	residual []float64
	weight   []float64 // slope is the sum of weight times value
	phi      float64   // autocorrelation of neighbours
	news     float64   // variance of what is new in a reading
	df       float64   // of news
}

func lineOf(s series) line {
	l := line{series: s, residual: make([]float64, len(s.at)), weight: make([]float64, len(s.at))}
	mean, _ := meanVar(s.value)
	middle, _ := meanVar(s.at)
	squares := 0.0
	for i, t := range s.at {
		l.weight[i] = t - middle
		squares += l.weight[i] * l.weight[i]
	}
	for i := range l.weight {
		l.weight[i] /= squares
		l.slope += l.weight[i] * s.value[i]
	}
	sum, lagged := 0.0, 0.0
	for i, v := range s.value {
		l.residual[i] = v - mean - l.slope*(s.at[i]-middle)
		sum += l.residual[i] * l.residual[i]
		if i > 0 {
			lagged += l.residual[i] * l.residual[i-1]
		}
	}
	m := float64(len(s.at))
	if !(sum > 0) {
		l.df = m - 2
		return l
	}
	// About a line the estimate is too low by (2+4 phi)/m (Kendall 1954, Marriott and Pope
	// 1954). In the few lows of a saw it cannot be told.
	if m >= TrendReadings {
		l.phi = max(0, min(mostPhi, (lagged/sum+2/m)/(1-4/m)))
	}
	new := 0.0
	for i, x := range l.residual[1:] {
		d := x - l.phi*l.residual[i]
		new += d * d
	}
	l.df = m - 3
	l.news = new / l.df
	return l
}

// round makes the noise no less than rounding to multiples of q does: q²/12, up to twice
// that if it is not random.
func (l *line) round(q float64) {
	_, v := meanVar(l.residual)
	if v < q*q/6 {
		l.phi, l.news = 0, q*q/6
	}
}

// se returns the standard error of a weighted sum of readings with autocorrelation phi.
func (l *line) se(weights []float64, phi float64) float64 {
	sum, before := 0.0, 0.0
	for _, w := range weights {
		sum += w * (w + 2*before)
		before = phi * (before + w)
	}
	return math.Sqrt(l.news / (1 - phi*phi) * max(0, sum))
}

// half returns half the slope's interval that errs with probability p, averaged over what
// phi may be (Gauss-Hermite, three points).
func (l *line) half(p float64) float64 {
	m := float64(len(l.at))
	sd := math.Sqrt(3 * (1 - l.phi*l.phi) / m)
	sum := 0.0
	for i, w := range []float64{1, 4, 1} {
		phi := max(-0.9, min(mostPhi, l.phi+float64(i-1)*sd))
		se := l.se(l.weight, phi)
		sum += w / 6 * se * se
	}
	// phi costs degrees of freedom; 0.45 was found by simulation, for 30 readings.
	df := max(min(3, l.df), 0.45*l.df*(1-l.phi*l.phi)/(1+l.phi*l.phi))
	return quantileT(p, df) * math.Sqrt(sum)
}
