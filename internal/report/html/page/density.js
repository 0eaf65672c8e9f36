// @ts-check
// How many requests took how long, as colour: requests per second and doubling
// of latency, on a logarithmic scale, so that columns of different width compare.

import { columnSeconds, columnsOf, momentOf, xAt } from "./axis.js";
import { edge } from "./count.js";
import { format, logTicks } from "./scale.js";
import { borders, line, text, timeAxis } from "./sheet.js";

/** Heights below the plot in CSS pixels: the band of collections and the ticks of stops. */
const bandHeight = 6, tickHeight = 5;

/** @type {import("./sheet.js").Margins} */
export const heatMargins = { left: 56, right: 12, top: 17, bottom: 22 };

/** @param {import("./data.js").Picture} p */
const doublings = (p) => Math.log2(p.high / p.low) / p.rows;

/** @type {WeakMap<import("./data.js").Picture, {low: number, high: number}>} */
const ranges = new WeakMap();

/**
 * densityRange is the range of the scale of colours: from one request in the
 * widest column to the densest cell of any setting, and thirty times at least,
 * so that a few lone requests do not look like many.
 * @param {import("./data.js").Picture} p
 * @returns {{low: number, high: number}}
 */
export function densityRange(p) {
  const known = ranges.get(p);
  if (known) return known;
  const per = doublings(p);
  let low = Infinity, high = 0;
  for (const s of p.stretches) {
    const one = 1 / (columnSeconds(s) * per);
    low = Math.min(low, one);
    for (const { heat } of p.settings) {
      if (!heat) continue;
      let most = 0;
      for (let i = s.first * p.rows, end = (s.first + s.columns) * p.rows; i < end; i++) if (heat[i] > most) most = heat[i];
      high = Math.max(high, most * one);
    }
  }
  const range = { low, high: Math.max(high, low * 30) };
  ranges.set(p, range);
  return range;
}

/**
 * rowPixels is how many device pixels high a row is: whole ones, so that rows
 * are equally high.
 * @param {number} rows
 * @param {number} dpr
 * @returns {number}
 */
export function rowPixels(rows, dpr) {
  return Math.max(1, Math.round((130 * dpr) / rows));
}

/**
 * heatInner is the height of a heat map's plot, band and ticks included, in
 * device pixels.
 * @param {import("./data.js").Picture} p
 * @param {number} dpr
 * @returns {number}
 */
export function heatInner(p, dpr) {
  return rowPixels(p.rows, dpr) * p.rows + Math.round((bandHeight + tickHeight + 3) * dpr);
}

/**
 * currentRange is the scale of colours for what is seen now.
 * @param {import("./stage.js").Stage} stage
 * @returns {{low: number, high: number}}
 */
export function currentRange(stage) {
  const { detail, zoom } = stage, slack = (zoom.to - zoom.from) * 0.01;
  const covered = detail?.stretches.length && detail.stretches[0].start <= zoom.from + slack
    && detail.stretches[detail.stretches.length - 1].end >= zoom.to - slack;
  return densityRange(detail && covered && !zoom.isWhole ? detail : stage.picture);
}

/** @type {HTMLCanvasElement | null} */
let scratch = null;

/**
 * paintHeat draws setting i.
 * @param {import("./sheet.js").Sheet} sheet
 * @param {import("./stage.js").Stage} stage
 * @param {number} i
 */
export function paintHeat(sheet, stage, i) {
  const { ctx, box, px, dpr, colours } = sheet, { picture } = stage;
  const plot = { ...box, h: rowPixels(picture.rows, dpr) * picture.rows };
  const y = (/** @type {number} */ latency) =>
    plot.y + plot.h * (1 - Math.log(latency / picture.low) / Math.log(picture.high / picture.low));
  for (const t of logTicks(picture.low, picture.high)) {
    line(sheet, plot.x, y(t), plot.x + plot.w, y(t));
    text(sheet, format(t, "s"), plot.x - px(6), y(t), "right", "middle");
  }
  timeAxis(sheet, box.y + box.h);
  scratch ??= document.createElement("canvas");
  scratch.width = box.w;
  scratch.height = box.h;
  const paper = scratch.getContext("2d");
  if (!paper) return;
  const image = paper.createImageData(box.w, box.h);
  fill(image, sheet, stage, i, plot.h);
  paper.putImageData(image, 0, 0);
  ctx.drawImage(scratch, box.x, box.y);
  borders(sheet, stage.picture.settings[i].trials);
  line(sheet, plot.x, plot.y + plot.h, plot.x + plot.w, plot.y + plot.h);
  ctx.strokeStyle = colours.worse;
  ctx.lineWidth = Math.max(1, 1.4 * dpr);
  for (const slow of slowestSeen(stage, i)) {
    const x = xAt(sheet.segments, slow.time);
    if (Number.isNaN(x)) continue;
    ctx.beginPath();
    ctx.arc(box.x + x, Math.min(plot.y + plot.h, Math.max(plot.y, y(slow.latency))), 3.5 * dpr, 0, 2 * Math.PI);
    ctx.stroke();
  }
}

/**
 * slowestSeen are the slowest requests with their axis times: the picture's, and
 * those that the detail adds.
 * @param {import("./stage.js").Stage} stage
 * @param {number} i
 * @returns {{time: number, latency: number}[]}
 */
function slowestSeen(stage, i) {
  const pictures = stage.detail && !stage.zoom.isWhole ? [stage.picture, stage.detail] : [stage.picture];
  return pictures.flatMap((p) => {
    const of = p.settings[i];
    return (of?.slowest ?? []).map((s) => ({ time: momentOf(p.stretches, of.trials, s.trial, s.at), latency: s.latency }));
  });
}

/**
 * fill colours the pixels of a heat map: the cells, the band of collections and
 * the ticks of stops.
 * @param {ImageData} image
 * @param {import("./sheet.js").Sheet} sheet
 * @param {import("./stage.js").Stage} stage
 * @param {number} i
 * @param {number} height of the cells in pixels
 */
function fill(image, sheet, stage, i, height) {
  const { width } = image, { dpr, colours } = sheet, { rows } = stage.picture;
  const pixels = new Uint32Array(image.data.buffer);
  const each = rowPixels(rows, dpr);
  const { low, high } = currentRange(stage);
  const factor = 255 / Math.log(high / low);
  const ink = new Uint32Array(rows), sum = new Float64Array(rows);
  const bandFrom = height + Math.round(2 * dpr), bandTo = bandFrom + Math.round(bandHeight * dpr);
  const tickTo = Math.min(image.height, bandTo + Math.round(tickHeight * dpr));
  /** @type {number[]} */
  const marked = [];
  for (const piece of stage.pieces(sheet.segments)) {
    const source = stage.setting(i, piece.fine);
    if (!source) continue;
    const { heat, collecting, stops } = source, s = piece.stretch;
    const per = columnSeconds(s) * doublings(stage.picture);
    const x0 = Math.round(piece.x0), x1 = Math.round(piece.x1), second = (piece.to - piece.from) / (x1 - x0);
    let before = -1, until = -1;
    for (let x = x0; x < x1; x++) {
      const t = piece.from + (x - x0) * second;
      const [a, b] = columnsOf(s, t, x === x1 - 1 ? piece.to : t + second);
      const fresh = a !== before || b !== until;
      if (heat && fresh) {
        sum.fill(0);
        for (let c = a, k = a * rows; c < b; c++) for (let r = 0; r < rows; r++, k++) sum[r] += heat[k];
        const scale = 1 / ((b - a) * per * low);
        for (let r = 0; r < rows; r++) {
          ink[r] = sum[r] === 0 ? 0 : colours.counts[Math.min(255, Math.max(0, Math.round(Math.log(sum[r] * scale) * factor)))];
        }
      }
      if (heat) {
        for (let r = 0; r < rows; r++) {
          if (ink[r] === 0) continue;
          for (let k = 0, at = (rows - 1 - r) * each * width + x; k < each; k++, at += width) pixels[at] = ink[r];
        }
      }
      const share = averageOf(collecting, a, b);
      // What is little is seen to be there.
      const shade = share > 0 ? colours.shares[Math.min(255, Math.round(28 + 227 * share))] : 0;
      for (let k = bandFrom; shade && k < bandTo; k++) pixels[k * width + x] = shade;
      if (stops !== null && (fresh || b - a > 1) && stops.subarray(a, b).some((n) => n > 0)) marked.push(x);
      before = a;
      until = b;
    }
  }
  // Ticks that stand close are a bar: a low one, as it tells little.
  const end = marked.length * 3 > width ? bandTo + 1 + Math.round(1.5 * dpr) : tickTo;
  for (const x of marked) for (let k = bandTo + 1; k < end; k++) pixels[k * width + x] = colours.shares[255];
}

/** @param {Float32Array | null} xs @param {number} a @param {number} b */
function averageOf(xs, a, b) {
  if (!xs) return 0;
  let sum = 0, n = 0;
  for (let c = a; c < b; c++) if (xs[c] === xs[c]) sum += xs[c], n++; // NaN is not itself
  return n ? sum / n : 0;
}

/**
 * cellAt tells what lies under the cursor of setting i: at an axis time, within
 * the seconds that a pixel shows, in a row (none if below 0).
 * @param {import("./stage.js").Stage} stage
 * @param {number} i
 * @param {number} time
 * @param {number} seconds
 * @param {number} row
 */
export function cellAt(stage, i, time, seconds, row) {
  for (const piece of stage.pieces([...segmentAt(stage, time)])) {
    if (time < piece.from || time > piece.to) continue;
    const source = stage.setting(i, piece.fine), s = piece.stretch;
    if (!source) continue;
    const [a, b] = columnsOf(s, time, time + seconds);
    const { rows } = stage.picture;
    let count = 0, all = 0, stops = 0;
    for (let c = a; c < b; c++) {
      for (let r = 0; source.heat && r < rows; r++) all += source.heat[c * rows + r];
      if (source.heat && row >= 0) count += source.heat[c * rows + row];
      stops += source.stops?.[c] ?? 0;
    }
    return {
      block: s.block, trial: stage.picture.settings[i].trials[piece.index], at: s.from + time - s.start,
      width: columnSeconds(s) * (b - a), low: edge(stage.picture, row), high: edge(stage.picture, row + 1),
      count, all, stops, known: source.heat !== null,
      collecting: source.collecting ? averageOf(source.collecting, a, b) : NaN,
    };
  }
  return null;
}

/** @param {import("./stage.js").Stage} stage @param {number} time */
function segmentAt(stage, time) {
  return stage.picture.stretches.flatMap((stretch, index) =>
    time >= stretch.start && time <= stretch.end
      ? [{ stretch, index, from: stretch.start, to: stretch.end, x0: 0, x1: 1 }] : []);
}

/**
 * paintLegend draws the scale of colours with its ends and the rounds between.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import("./stage.js").Stage} stage
 * @param {{x: number, y: number, w: number, dpr: number, colours: import("./colour.js").Colours}} at in device pixels
 */
export function paintLegend(ctx, stage, { x, y, w, dpr, colours }) {
  const px = (/** @type {number} */ css) => Math.round(css * dpr);
  const image = ctx.createImageData(w, px(8));
  const pixels = new Uint32Array(image.data.buffer);
  for (let k = 0; k < pixels.length; k++) pixels[k] = colours.counts[Math.floor(((k % w) / w) * 256)];
  ctx.putImageData(image, x, y);
  const { low, high } = currentRange(stage);
  ctx.font = `${px(10)}px ${colours.font}`;
  ctx.fillStyle = colours.faint;
  ctx.textBaseline = "top";
  ctx.textAlign = "center";
  let free = -Infinity;
  for (const t of logTicks(low, high)) {
    const words = t >= 1 ? t.toLocaleString("en") : String(t), half = ctx.measureText(words).width / 2;
    const at = Math.max(half, Math.min(w - half, (Math.log(t / low) / Math.log(high / low)) * w));
    if (at - half < free) continue;
    ctx.fillText(words, x + at, y + px(11));
    free = at + half + px(6);
  }
}
