// @ts-check
// The course of a quantity: a line through the last readings, with the band from
// the least to the greatest.

import { columnAt, columnSeconds, columnsOf } from "./axis.js";
import { tickLabels, ticks } from "./scale.js";
import { borders, line, text, timeAxis } from "./sheet.js";

/** Dashes of the first, second … line in a panel, in CSS pixels. */
export const dashes = [[], [5, 3], [1.5, 2.5], [8, 3, 1.5, 3]];

/**
 * A point of a course: its axis time, x in the plot and readings; a break if
 * these are NaN.
 * @typedef {{time: number, x: number, min: number, max: number, last: number}} Point
 */

/**
 * pointsOf makes a course's points for one piece of the axis: a point for each
 * pixel, or for each column where these are wider. Columns without a reading are
 * left out.
 * @param {import("./data.js").Track} track
 * @param {import("./axis.js").Piece} piece
 * @returns {Point[]}
 */
export function pointsOf(track, piece) {
  const s = piece.stretch, [a, b] = columnsOf(s, piece.from, piece.to);
  const step = Math.max(1, Math.floor((b - a) / Math.max(1, piece.x1 - piece.x0)));
  /** @type {Point[]} */
  const points = [];
  for (let c = a; c < b; c += step) {
    let min = Infinity, max = -Infinity, last = NaN;
    for (let k = c; k < Math.min(c + step, b); k++) {
      if (Number.isNaN(track.last[k])) continue;
      min = Math.min(min, track.min[k]);
      max = Math.max(max, track.max[k]);
      last = track.last[k];
    }
    if (!Number.isNaN(last)) points.push(pointAt(s.start + (c - s.first + step / 2) * columnSeconds(s), piece, min, max, last));
  }
  return points;
}

/** @param {number} time @param {{from: number, to: number, x0: number, x1: number}} on @param {number} min @param {number} max @param {number} last */
function pointAt(time, on, min, max, last) {
  return { time, x: on.x0 + ((time - on.from) / (on.to - on.from)) * (on.x1 - on.x0), min, max, last };
}

/**
 * beside is the nearest point that lies outside of a segment, before it (-1) or
 * behind it (1), so that the line goes on to the edge; none if there is none.
 * @param {import("./data.js").Track | undefined} track of the whole picture
 * @param {import("./axis.js").Segment} g
 * @param {1 | -1} way
 * @returns {Point[]}
 */
export function beside(track, g, way) {
  const s = g.stretch;
  if (!track) return [];
  for (let c = columnAt(s, way < 0 ? g.from : g.to) + way; c >= s.first && c < s.first + s.columns; c += way) {
    if (Number.isNaN(track.last[c])) continue;
    return [pointAt(s.start + (c - s.first + 0.5) * columnSeconds(s), g, track.min[c], track.max[c], track.last[c])];
  }
  return [];
}

/**
 * withBreaks puts a break where readings are missing for much longer than usual.
 * @param {Point[]} points
 * @returns {Point[]}
 */
export function withBreaks(points) {
  const gaps = points.slice(1).map((p, i) => p.time - points[i].time);
  const usual = gaps.toSorted((a, b) => a - b)[gaps.length >> 1] ?? 1;
  return points.flatMap((p, i) =>
    i > 0 && points.length > 4 && gaps[i - 1] > 8 * usual ? [{ ...p, min: NaN, max: NaN, last: NaN }, p] : [p]);
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
  const colour = colours.settings[setting % colours.settings.length];
  metrics.forEach((metric, k) => {
    ctx.lineWidth = Math.max(1, 1.5 * dpr);
    ctx.lineJoin = "round";
    ctx.strokeStyle = ctx.fillStyle = colour;
    ctx.setLineDash(dashes[k % dashes.length].map((d) => d * dpr));
    for (const g of sheet.segments) {
      ctx.save();
      ctx.beginPath();
      ctx.rect(box.x + g.x0, box.y - px(2), g.x1 - g.x0, box.h + px(4));
      ctx.clip();
      drawCourse(ctx, courseOf(stage, setting, metric, g), box.x, y, dpr);
      ctx.restore();
    }
  });
  ctx.setLineDash([]);
}

/**
 * courseOf is what is seen of a metric in one stretch: a detail's points where
 * there is one, and the coarse ones.
 * @param {import("./stage.js").Stage} stage
 * @param {number} setting
 * @param {string} metric
 * @param {import("./axis.js").Segment} segment
 * @returns {Point[]}
 */
function courseOf(stage, setting, metric, segment) {
  const trackOf = (/** @type {boolean} */ fine) => stage.setting(setting, fine)?.tracks.find((t) => t.metric === metric);
  const points = stage.pieces([segment]).flatMap((piece) => {
    const track = trackOf(piece.fine);
    return track ? pointsOf(track, piece) : [];
  });
  const coarse = trackOf(false);
  return withBreaks([...beside(coarse, segment, -1), ...points, ...beside(coarse, segment, 1)]);
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
