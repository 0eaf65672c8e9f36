package html

import (
	"maps"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestContrast: on every theme all colours can be read as text (WCAG 2.2, 1.4.3) on
// both grounds, and the themes define the same ones.
func TestContrast(t *testing.T) {
	css, err := os.ReadFile("page/chart.css")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`(?s):root[^{}]*\{(.*?)\}`)
	variable := regexp.MustCompile(`--([\w]+): (#[0-9a-f]{6});`)
	themes := block.FindAllStringSubmatch(string(css), -1)
	if len(themes) != 4 { // light, dark, dark by the system, print
		t.Fatalf("%d themes", len(themes))
	}
	if strings.ReplaceAll(themes[1][1], " ", "") != strings.ReplaceAll(themes[2][1], " ", "") {
		t.Error("the dark theme differs from the system's")
	}
	light := map[string]string{}
	for n, theme := range themes {
		color := map[string]string{}
		if n == 3 {
			color = maps.Clone(light) // print says only what differs
		}
		for _, v := range variable.FindAllStringSubmatch(theme[1], -1) {
			color[v[1]] = v[2]
		}
		if n == 0 {
			light = color
		}
		if len(color) != 21 {
			t.Errorf("theme %d has %d colours", n, len(color))
		}
		for name, c := range color {
			if name == "ground" || name == "panel" || name == "line" || name == "zone" {
				continue
			}
			for _, ground := range []string{"ground", "panel"} {
				if got := contrastOf(c, color[ground]); got < 4.5 {
					t.Errorf("theme %d: --%s has a contrast of %.2f to --%s", n, name, got, ground)
				}
			}
		}
	}
}

// contrastOf is the ratio of the luminances of two colours.
func contrastOf(a, b string) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(color string) float64 {
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, _ := strconv.ParseUint(color[1+2*i:3+2*i], 16, 8)
		x := float64(n) / 255
		if x <= 0.04045 {
			x /= 12.92
		} else {
			x = math.Pow((x+0.055)/1.055, 2.4)
		}
		sum += weight * x
	}
	return sum
}
