// @ts-check
// The course of a quantity: a line through the last readings, with the band from
// the least to the greatest.

import { columnsOf } from "./axis.js";
import { tickLabels, ticks } from "./scale.js";
import { borders, line, text, timeAxis } from "./sheet.js";

/** Dashes of the first, second … line in a panel, in CSS pixels. */
export const dashes = [[], [5, 3], [1.5, 2.5], [8, 3, 1.5, 3]];

/**
 * A point of a course: at x of the plot, or a break if the last reading is NaN.
 * @typedef {{x: number, min: number, max: number, last: number}} Point
 */

/**
 * pointsOf makes a course's points for one piece of the axis: a point for each
 * pixel, or for each column where these are wider. Columns without a reading are
 * left out; where many more are missing than usual, there is a break.
 * @param {import("./data.js").Track} track
 * @param {import("./axis.js").Piece} piece
 * @returns {Point[]}
 */
export function pointsOf(track, piece) {
  const s = piece.stretch, [a, b] = columnsOf(s, piece.from, piece.to);
  const each = (s.end - s.start) / s.columns;
  const pixels = Math.max(1, piece.x1 - piece.x0), step = Math.max(1, Math.floor((b - a) / pixels));
  /** @type {Point[]} */
  const points = [];
  /** @type {number[]} */
  const at = [];
  // One column more on either side, so that lines go on to the edge.
  for (let c = Math.max(s.first, a - step); c < Math.min(s.first + s.columns, b + step); c += step) {
    let min = Infinity, max = -Infinity, last = NaN;
    for (let k = c; k < c + step && k < s.first + s.columns; k++) {
      if (Number.isNaN(track.last[k])) continue;
      min = Math.min(min, track.min[k]);
      max = Math.max(max, track.max[k]);
      last = track.last[k];
    }
    if (Number.isNaN(last)) continue;
    const time = s.start + (c - s.first + step / 2) * each;
    points.push({ x: piece.x0 + ((time - piece.from) / (piece.to - piece.from)) * (piece.x1 - piece.x0), min, max, last });
    at.push(c);
  }
  return withBreaks(points, at);
}

/** @param {Point[]} points @param {number[]} at their columns @returns {Point[]} */
function withBreaks(points, at) {
  const gaps = at.slice(1).map((c, i) => c - at[i]);
  const usual = gaps.toSorted((a, b) => a - b)[gaps.length >> 1] ?? 1;
  return points.flatMap((p, i) =>
    i > 0 && gaps[i - 1] > 8 * usual ? [{ x: p.x, min: NaN, max: NaN, last: NaN }, p] : [p]);
}

/**
 * topOf is the top of the axis for tracks of one unit: a round number that no
 * reading exceeds.
 * @param {import("./data.js").Track[]} tracks
 * @returns {{top: number, ticks: number[]}}
 */
export function topOf(tracks) {
  let max = 0;
  for (const t of tracks) for (const x of t.max) if (x > max) max = x;
  const list = ticks(max, 3, tracks[0]?.unit ?? "");
  return { top: list[list.length - 1] || 1, ticks: list };
}

/**
 * paintCourse draws the tracks of one setting in one panel.
 * @param {import("./sheet.js").Sheet} sheet
 * @param {import("./stage.js").Stage} stage
 * @param {{setting: number, metrics: string[], unit: string, scale: {top: number, ticks: number[]}, labels: boolean}} of
 */
export function paintCourse(sheet, stage, { setting, metrics, unit, scale, labels }) {
  const { ctx, box, px, dpr, colours } = sheet;
  const y = (/** @type {number} */ v) => box.y + box.h * (1 - Math.min(1, Math.max(0, v / scale.top)));
  const words = tickLabels(scale.ticks, unit);
  scale.ticks.forEach((t, i) => {
    line(sheet, box.x, y(t), box.x + box.w, y(t));
    if (labels) text(sheet, words[i], box.x - px(6), y(t), "right", "middle");
  });
  timeAxis(sheet, box.y + box.h);
  borders(sheet, stage.picture.settings[setting].trials);
  const pieces = stage.pieces(sheet.segments);
  const colour = colours.settings[setting % colours.settings.length];
  ctx.save();
  ctx.beginPath();
  for (const g of sheet.segments) ctx.rect(box.x + g.x0, box.y - px(2), g.x1 - g.x0, box.h + px(4));
  ctx.clip();
  metrics.forEach((metric, k) => {
    ctx.lineWidth = Math.max(1, 1.5 * dpr);
    ctx.lineJoin = "round";
    ctx.strokeStyle = ctx.fillStyle = colour;
    ctx.setLineDash(dashes[k % dashes.length].map((d) => d * dpr));
    for (const points of coursesOf(stage, setting, metric, pieces)) drawCourse(ctx, points, box.x, y, dpr);
  });
  ctx.restore();
}

/**
 * coursesOf are the points of a metric, one course for each stretch: a detail's
 * go on where the coarse ones end.
 * @param {import("./stage.js").Stage} stage
 * @param {number} setting
 * @param {string} metric
 * @param {import("./axis.js").Piece[]} pieces
 * @returns {Point[][]}
 */
function coursesOf(stage, setting, metric, pieces) {
  /** @type {Map<number, Point[]>} */
  const courses = new Map();
  for (const piece of pieces) {
    const track = stage.setting(setting, piece.fine)?.tracks.find((t) => t.metric === metric);
    if (!track) continue;
    const points = pointsOf(track, piece).filter((p) => pieces.length < 2 || inside(p, piece, pieces));
    courses.set(piece.index, [...(courses.get(piece.index) ?? []), ...points]);
  }
  return [...courses.values()];
}

/** inside is false for a point that belongs to the neighbour of a piece. @param {Point} p @param {import("./axis.js").Piece} piece @param {import("./axis.js").Piece[]} pieces */
function inside(p, piece, pieces) {
  return !pieces.some((o) => o !== piece && o.index === piece.index && p.x >= o.x0 && p.x < o.x1);
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Point[]} points
 * @param {number} left
 * @param {(v: number) => number} y
 * @param {number} dpr
 */
function drawCourse(ctx, points, left, y, dpr) {
  for (let from = 0; from < points.length;) {
    let to = from;
    while (to < points.length && !Number.isNaN(points[to].last)) to++;
    const run = points.slice(from, to);
    from = to + 1;
    if (!run.length) continue;
    ctx.globalAlpha = 0.25;
    ctx.beginPath();
    for (const p of run) ctx.lineTo(left + p.x, y(p.max));
    for (const p of run.toReversed()) ctx.lineTo(left + p.x, y(p.min));
    ctx.fill();
    ctx.globalAlpha = 1;
    ctx.beginPath();
    for (const p of run) ctx.lineTo(left + p.x, y(p.last));
    if (run.length === 1) ctx.arc(left + run[0].x, y(run[0].last), 1.5 * dpr, 0, 2 * Math.PI);
    ctx.stroke();
  }
}
