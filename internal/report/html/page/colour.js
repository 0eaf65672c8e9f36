// @ts-check
// Colours of what is drawn on canvases: those of the style sheet, and the scale
// of counts. In the scale the lightness goes evenly one way (OKLab, Björn
// Ottosson 2020), so that it can be read without seeing hues.

/**
 * @typedef {object} Colours
 * @property {boolean} dark
 * @property {string} text
 * @property {string} faint
 * @property {string} line
 * @property {string} ground
 * @property {string} accent
 * @property {string} worse
 * @property {string[]} settings
 * @property {string} font family
 * @property {Uint32Array} counts 256 pixels (little-endian RGBA) from few to many
 * @property {Uint32Array} shares 256 pixels from nothing to always
 */

/** @typedef {[lightness: number, chroma: number, hue: number]} Shade hue in degrees */

/** @type {Shade[]} */
const onLight = [[0.79, 0.13, 75], [0.67, 0.125, 48], [0.54, 0.11, 355], [0.37, 0.13, 295], [0.2, 0.11, 278]];
/** @type {Shade[]} */
const onDark = [[0.42, 0.12, 285], [0.53, 0.14, 310], [0.65, 0.15, 10], [0.8, 0.12, 62], [0.95, 0.09, 100]];

/**
 * readColours takes the colours as they are now from the custom properties of
 * chart.css.
 * @returns {Colours}
 */
export function readColours() {
  const root = getComputedStyle(document.documentElement);
  const read = (/** @type {string} */ name) => root.getPropertyValue(`--${name}`).trim();
  const ground = read("ground"), accent = read("accent"), dark = luminance(ground) < 0.4;
  return {
    dark, ground, accent, text: read("text"), faint: read("faint"), line: read("line"), worse: read("worse"),
    settings: Array.from({ length: 10 }, (_, i) => read(`c${i}`)),
    font: getComputedStyle(document.body).fontFamily || "sans-serif",
    counts: ramp(dark ? onDark : onLight), shares: fade(pixelOf(accent)),
  };
}

/** pixelOf draws a CSS colour to know it. @param {string} css @returns {[number, number, number]} */
function pixelOf(css) {
  const c = document.createElement("canvas");
  c.width = c.height = 1;
  const ctx = c.getContext("2d", { willReadFrequently: true });
  if (!ctx) return [128, 128, 128];
  ctx.fillStyle = css;
  ctx.fillRect(0, 0, 1, 1);
  const [r, g, b] = ctx.getImageData(0, 0, 1, 1).data;
  return [r, g, b];
}

/** @param {string} css */
function luminance(css) {
  const [r, g, b] = pixelOf(css);
  return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
}

/** @param {[number, number, number]} rgb */
function fade([r, g, b]) {
  return Uint32Array.from({ length: 256 }, (_, i) => ((i << 24) | (b << 16) | (g << 8) | r) >>> 0);
}

/**
 * ramp is 256 opaque pixels along shades, straight in OKLab.
 * @param {Shade[]} shades
 * @returns {Uint32Array}
 */
export function ramp(shades) {
  const labs = shades.map(([l, c, h]) => [l, c * Math.cos((h * Math.PI) / 180), c * Math.sin((h * Math.PI) / 180)]);
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (labs.length - 1), k = Math.min(labs.length - 2, Math.floor(at));
    const [l, a, b] = labs[k].map((x, j) => x + (at - k) * (labs[k + 1][j] - x));
    return toPixel(l, a, b);
  });
}

/** toPixel turns OKLab into sRGB. @param {number} l @param {number} a @param {number} b */
function toPixel(l, a, b) {
  const x = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const y = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const z = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const byte = (/** @type {number} */ v) => {
    const c = v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055;
    return Math.round(255 * Math.min(1, Math.max(0, c)));
  };
  const red = byte(4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z);
  const green = byte(-1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z);
  const blue = byte(-0.0041960863 * x - 0.7034186147 * y + 1.707614701 * z);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}
