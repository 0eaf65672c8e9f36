// @ts-check
// What counts by latency tell: how many, and about which percentiles. A row is
// from low·ratio^i to low·ratio^(i+1), the fastest is row 0.

import { columnAt, columnSeconds } from "./axis.js";

/**
 * edge is the latency in seconds at the lower edge of a row; that of row `rows`
 * is high.
 * @param {{rows: number, low: number, high: number}} picture
 * @param {number} row
 * @returns {number}
 */
export function edge(picture, row) {
  return picture.low * (picture.high / picture.low) ** (row / picture.rows);
}

/**
 * sumColumns adds the counts of columns [a, b), by row.
 * @param {Uint32Array} heat
 * @param {number} rows
 * @param {number} a
 * @param {number} b
 * @returns {Float64Array}
 */
export function sumColumns(heat, rows, a, b) {
  const sum = new Float64Array(rows);
  for (let c = a; c < b; c++) for (let r = 0; r < rows; r++) sum[r] += heat[c * rows + r];
  return sum;
}

/**
 * total is the sum of counts.
 * @param {Float64Array} sum
 * @returns {number}
 */
export function total(sum) {
  return sum.reduce((n, x) => n + x, 0);
}

/**
 * percentile is about the latency which the share q of the counted requests do
 * not exceed; NaN without a request. It is right to a row's ratio. q = 1 is the
 * upper edge of the slowest row.
 * @param {{rows: number, low: number, high: number}} picture
 * @param {Float64Array} sum
 * @param {number} q
 * @returns {number}
 */
export function percentile(picture, sum, q) {
  const want = q * total(sum);
  let below = 0, last = NaN;
  for (let r = 0; r < sum.length; r++) {
    if (sum[r] === 0) continue;
    last = edge(picture, r + 1);
    if (below + sum[r] >= want) return edge(picture, r + (want - below) / sum[r]);
    below += sum[r];
  }
  return last;
}

/**
 * A part of the axis to make a line of a table of: columns [a, b).
 * @typedef {{label: string, first: number, last: number, from: number, to: number, a: number, b: number}} Part
 */

/**
 * parts divides the axis into at most `most` parts: as many as fit of each
 * stretch, or several stretches at once where they are many. first and last are
 * indices of stretches, from and to seconds of the first's and the last's block.
 * @param {import("./axis.js").Stretch[]} stretches
 * @param {number} most
 * @returns {Part[]}
 */
export function parts(stretches, most) {
  /** @type {Part[]} */
  const list = [];
  if (stretches.length > most) {
    for (let i = 0; i < most; i++) {
      const first = Math.floor((i * stretches.length) / most);
      const last = Math.floor(((i + 1) * stretches.length) / most) - 1;
      const from = stretches[first], to = stretches[last];
      const label = first === last ? `block ${from.block}` : `blocks ${from.block}–${to.block}`;
      list.push({ label, first, last, from: from.from, to: to.to, a: from.first, b: to.first + to.columns });
    }
    return list;
  }
  const each = Math.floor(most / stretches.length);
  stretches.forEach((s, i) => {
    const n = Math.min(each, s.columns);
    for (let k = 0; k < n; k++) {
      const a = Math.round((k * s.columns) / n), b = Math.round(((k + 1) * s.columns) / n);
      const width = columnSeconds(s);
      list.push({
        label: `block ${s.block}`, first: i, last: i,
        from: s.from + a * width, to: s.from + b * width, a: s.first + a, b: s.first + b,
      });
    }
  });
  return list;
}

/**
 * mean is the mean of the numbers of [a, b) that are known, or NaN.
 * @param {Float32Array | null} xs
 * @param {number} a
 * @param {number} b
 * @returns {number}
 */
export function mean(xs, a, b) {
  let sum = 0, n = 0;
  for (let i = a; xs && i < b; i++) {
    if (!Number.isNaN(xs[i])) sum += xs[i], n++;
  }
  return n ? sum / n : NaN;
}

/**
 * reading is the last reading of a track at or before an axis time, in the same
 * stretch, or NaN.
 * @param {Float32Array} last
 * @param {import("./axis.js").Stretch} s
 * @param {number} time
 * @returns {number}
 */
export function reading(last, s, time) {
  for (let c = columnAt(s, time); c >= s.first; c--) if (!Number.isNaN(last[c])) return last[c];
  return NaN;
}
