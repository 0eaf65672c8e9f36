// @ts-check
// A canvas made ready to draw a plot on: its size in device pixels, its axes and
// the borders between blocks. Everything here is in device pixels; px turns CSS
// pixels into them.

import { lay } from "./axis.js";
import { moment, timeStep } from "./scale.js";

/**
 * What a plot needs around it, in CSS pixels.
 * @typedef {{left: number, right: number, top: number, bottom: number}} Margins
 */

/**
 * @typedef {object} Sheet
 * @property {CanvasRenderingContext2D} ctx
 * @property {number} dpr
 * @property {(css: number) => number} px
 * @property {{x: number, y: number, w: number, h: number}} box of the plot
 * @property {import("./axis.js").Segment[]} segments from the plot's left edge
 * @property {import("./colour.js").Colours} colours
 */

/**
 * prepare sizes and clears a canvas.
 * @param {object} o
 * @param {HTMLCanvasElement} o.canvas
 * @param {number} o.width of the canvas in CSS pixels
 * @param {number} o.inner height of the plot in device pixels
 * @param {number} o.dpr
 * @param {Margins} o.margins
 * @param {import("./axis.js").Stretch[]} o.stretches
 * @param {import("./axis.js").Range} o.range
 * @param {import("./colour.js").Colours} o.colours
 * @returns {Sheet | null}
 */
export function prepare({ canvas, width, inner, dpr, margins, stretches, range, colours }) {
  const ctx = canvas.getContext("2d");
  if (!ctx) return null;
  const px = (/** @type {number} */ css) => Math.round(css * dpr);
  const w = px(width), h = px(margins.top) + inner + px(margins.bottom);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${w / dpr}px`;
    canvas.style.height = `${h / dpr}px`;
  }
  ctx.clearRect(0, 0, w, h);
  const box = { x: px(margins.left), y: px(margins.top), w: 0, h: inner };
  box.w = Math.max(1, w - box.x - px(margins.right));
  ctx.font = `${px(11)}px ${colours.font}`;
  ctx.lineWidth = Math.max(1, Math.floor(dpr));
  return { ctx, dpr, px, box, segments: lay(stretches, range, box.w, px(5)), colours };
}

/**
 * text writes on a sheet.
 * @param {Sheet} s
 * @param {string} words
 * @param {number} x
 * @param {number} y
 * @param {CanvasTextAlign} [align]
 * @param {CanvasTextBaseline} [baseline]
 * @param {string} [colour]
 */
export function text(s, words, x, y, align = "left", baseline = "alphabetic", colour = s.colours.faint) {
  s.ctx.textAlign = align;
  s.ctx.textBaseline = baseline;
  s.ctx.fillStyle = colour;
  s.ctx.fillText(words, x, y);
}

/**
 * line draws a straight horizontal or vertical line of the frame's colour.
 * @param {Sheet} s
 * @param {number} x0
 * @param {number} y0
 * @param {number} x1
 * @param {number} y1
 */
export function line(s, x0, y0, x1, y1) {
  const t = s.ctx.lineWidth;
  s.ctx.fillStyle = s.colours.line;
  s.ctx.fillRect(Math.round(x0), Math.round(y0), Math.max(t, Math.round(x1 - x0)), Math.max(t, Math.round(y1 - y0)));
}

/**
 * timeAxis draws ticks and labels of time below y, and lines through the plot.
 * Each stretch counts from its own block's beginning.
 * @param {Sheet} s
 * @param {number} y
 */
export function timeAxis(s, y) {
  const { segments, box, px, ctx } = s;
  const seconds = segments.reduce((n, g) => n + g.to - g.from, 0);
  const wide = segments.reduce((n, g) => n + g.x1 - g.x0, 0);
  let step = timeStep((seconds * px(72)) / wide);
  // Where stretches are narrower than a step each still has its beginning.
  let free = -Infinity;
  for (const g of segments) {
    const shift = g.stretch.from - g.stretch.start;
    const from = g.from + shift, to = g.to + shift;
    for (let k = Math.ceil(from / step - 1e-6); k * step <= to + step * 1e-6; k++) {
      const x = box.x + g.x0 + ((k * step - from) / (to - from)) * (g.x1 - g.x0);
      line(s, x, box.y, x, y + px(3));
      const words = moment(k * step, step), half = ctx.measureText(words).width / 2;
      const at = Math.min(box.x + box.w + px(8) - half, Math.max(half, x));
      if (at - half < free + px(6) || at + half > box.x + g.x1 + px(24)) continue;
      text(s, words, at, y + px(5), "center", "top");
      free = at + half;
    }
  }
}

/**
 * borders names the trial of each stretch above the plot and draws its frame.
 * @param {Sheet} s
 * @param {number[]} trials by stretch
 */
export function borders(s, trials) {
  const { segments, box, px, ctx } = s;
  for (const g of segments) {
    const x0 = box.x + g.x0, x1 = box.x + g.x1;
    line(s, x0, box.y, x0, box.y + box.h);
    line(s, x1 - ctx.lineWidth, box.y, x1 - ctx.lineWidth, box.y + box.h);
    line(s, x0, box.y + box.h, x1, box.y + box.h);
    const trial = trials[g.index];
    for (const words of trial ? [`trial ${trial}`, `${trial}`] : ["no trial", "–"]) {
      if (ctx.measureText(words).width > x1 - x0) continue;
      text(s, words, (x0 + x1) / 2, box.y - px(3), "center", "bottom");
      break;
    }
  }
}
