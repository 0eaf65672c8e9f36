// @ts-check
// The axis of time: stretches (a block each, or a part of one) that lie side by
// side. An axis time is in seconds and runs over all stretches without gaps; the
// gaps are drawn only.

/**
 * A part of one block's time. from and to are in seconds since the windows of
 * the block's trials began, start and end the same on the axis; first is the
 * index of its first column.
 * @typedef {{block: number, from: number, to: number, columns: number, start: number, end: number, first: number}} Stretch
 */

/**
 * What is seen of a stretch: from and to on the axis, x0 and x1 across the plot.
 * @typedef {{stretch: Stretch, index: number, from: number, to: number, x0: number, x1: number}} Segment
 */

/** @typedef {{from: number, to: number}} Range */

/**
 * place gives every stretch its place on the axis: one after the other, or where
 * the same times of the same block lie in whole.
 * @param {{block: number, from: number, to: number, columns: number}[]} axis
 * @param {Stretch[]} [whole]
 * @returns {Stretch[]}
 */
export function place(axis, whole) {
  let end = 0, first = 0;
  return axis.map((a) => {
    const home = whole?.find((w) => w.block === a.block && a.to > w.from && a.from < w.to);
    const start = home ? home.start + a.from - home.from : end;
    end = start + a.to - a.from;
    const s = { block: a.block, from: a.from, to: a.to, columns: a.columns, start, end, first };
    first += a.columns;
    return s;
  });
}

/**
 * lay spreads what is within range over width, with a gap between stretches.
 * @param {Stretch[]} stretches
 * @param {Range} range
 * @param {number} width
 * @param {number} gap
 * @returns {Segment[]}
 */
export function lay(stretches, range, width, gap) {
  /** @type {Segment[]} */
  const seen = [];
  let seconds = 0;
  stretches.forEach((stretch, index) => {
    const from = Math.max(range.from, stretch.start), to = Math.min(range.to, stretch.end);
    if (!(to > from)) return;
    seen.push({ stretch, index, from, to, x0: 0, x1: 0 });
    seconds += to - from;
  });
  const each = Math.min(gap, seen.length > 1 ? width / 3 / (seen.length - 1) : gap);
  const room = width - each * (seen.length - 1);
  let x = 0;
  for (const s of seen) {
    s.x0 = x;
    s.x1 = x + (room * (s.to - s.from)) / seconds;
    x = s.x1 + each;
  }
  return seen;
}

/**
 * timeAt is the axis time at x; between stretches that of the nearer edge.
 * @param {Segment[]} segments
 * @param {number} x
 * @returns {number}
 */
export function timeAt(segments, x) {
  for (let i = 0; i < segments.length; i++) {
    const s = segments[i];
    if (x <= s.x1 || i === segments.length - 1) {
      if (x < s.x0 && i > 0 && x - segments[i - 1].x1 < s.x0 - x) return segments[i - 1].to;
      const share = (x - s.x0) / (s.x1 - s.x0);
      return s.from + Math.min(1, Math.max(0, share)) * (s.to - s.from);
    }
  }
  return 0;
}

/**
 * xAt is where an axis time lies, or NaN where it is not seen.
 * @param {Segment[]} segments
 * @param {number} time
 * @returns {number}
 */
export function xAt(segments, time) {
  for (const s of segments) {
    if (time >= s.from && time <= s.to) return s.x0 + ((time - s.from) / (s.to - s.from)) * (s.x1 - s.x0);
  }
  return NaN;
}

/**
 * stretchAt finds the index of the stretch that holds an axis time, or -1. At a
 * border it is the later one.
 * @param {Stretch[]} stretches
 * @param {number} time
 * @returns {number}
 */
export function stretchAt(stretches, time) {
  for (let i = stretches.length - 1; i >= 0; i--) {
    if (time >= stretches[i].start && time <= stretches[i].end) return i;
  }
  return -1;
}

/**
 * columnAt is the index of the column that holds an axis time within a stretch.
 * @param {Stretch} s
 * @param {number} time
 * @returns {number}
 */
export function columnAt(s, time) {
  const share = (time - s.start) / (s.end - s.start);
  return s.first + Math.min(s.columns - 1, Math.max(0, Math.floor(share * s.columns + 1e-9)));
}

/**
 * columnsOf are the columns [a, b) that a time [t0, t1) of a stretch shows: those
 * that begin in it if it is longer than a column (so that each column is shown
 * once), or else the one that holds its beginning.
 * @param {Stretch} s
 * @param {number} t0
 * @param {number} t1
 * @returns {[number, number]}
 */
export function columnsOf(s, t0, t1) {
  const a = columnAt(s, t0), b = t1 >= s.end ? s.first + s.columns : columnAt(s, t1);
  return [a, Math.max(b, a + 1)];
}

/**
 * columnSeconds is how long each column of a stretch is.
 * @param {Stretch} s
 * @returns {number}
 */
export function columnSeconds(s) {
  return (s.to - s.from) / s.columns;
}

/**
 * momentOf is the axis time of a moment of a trial, given in seconds since its
 * window began; NaN if it is outside of the axis.
 * @param {Stretch[]} stretches
 * @param {number[]} trials by stretch
 * @param {number} trial
 * @param {number} at
 * @returns {number}
 */
export function momentOf(stretches, trials, trial, at) {
  for (let i = 0; i < stretches.length; i++) {
    const s = stretches[i];
    if (trials[i] === trial && at >= s.from && at <= s.to) return s.start + at - s.from;
  }
  return NaN;
}

/**
 * clampRange keeps a range within [0, total] and not shorter than least; it is
 * moved before it is cut.
 * @param {Range} r
 * @param {number} total
 * @param {number} least
 * @returns {Range}
 */
export function clampRange(r, total, least) {
  let from = Math.min(r.from, r.to), to = Math.max(r.from, r.to);
  if (!Number.isFinite(from) || !Number.isFinite(to)) return { from: 0, to: total };
  const span = Math.min(total, Math.max(to - from, least));
  if (to - from < span) from = (from + to - span) / 2;
  from = Math.min(Math.max(0, from), total - span);
  to = from + span;
  return { from, to: total - to < total * 1e-12 ? total : to };
}

/**
 * scaleRange makes a range factor times as long; around stays where it is.
 * @param {Range} r
 * @param {number} factor
 * @param {number} around
 * @returns {Range}
 */
export function scaleRange(r, factor, around) {
  return { from: around - (around - r.from) * factor, to: around + (r.to - around) * factor };
}

/**
 * parseHash reads the range of "#t=1.5-2.25", or null.
 * @param {string} hash
 * @returns {Range | null}
 */
export function parseHash(hash) {
  const m = /^#t=(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(hash);
  if (!m || !(Number(m[2]) > Number(m[1]))) return null;
  return { from: Number(m[1]), to: Number(m[2]) };
}

/**
 * formatHash writes a range as parseHash reads it, to a ten thousandth of it or
 * to the microsecond.
 * @param {Range} r
 * @returns {string}
 */
export function formatHash(r) {
  const decimals = Math.min(6, Math.max(0, Math.ceil(4 - Math.log10(r.to - r.from))));
  const text = (/** @type {number} */ x) => (decimals ? x.toFixed(decimals).replace(/\.?0+$/, "") : x.toFixed(0));
  return `#t=${text(r.from)}-${text(r.to)}`;
}

/**
 * A part of a segment that is drawn from one stretch of one picture.
 * @typedef {{stretch: Stretch, fine: boolean, index: number, from: number, to: number, x0: number, x1: number}} Piece
 */

/**
 * cover divides segments into what finer stretches hold and the rest.
 * @param {Segment[]} segments
 * @param {Stretch[]} finer
 * @returns {Piece[]}
 */
export function cover(segments, finer) {
  /** @type {Piece[]} */
  const pieces = [];
  for (const s of segments) {
    const x = (/** @type {number} */ t) => s.x0 + ((t - s.from) / (s.to - s.from)) * (s.x1 - s.x0);
    const least = (s.to - s.from) * 1e-6;
    let at = s.from;
    const add = (/** @type {Stretch} */ stretch, /** @type {boolean} */ fine, /** @type {number} */ to) => {
      if (to - at > least) pieces.push({ stretch, fine, index: s.index, from: at, to, x0: x(at), x1: x(to) });
      at = Math.max(at, to);
    };
    for (const f of finer) {
      if (f.block !== s.stretch.block || f.end <= s.from || f.start >= s.to) continue;
      add(s.stretch, false, Math.max(s.from, f.start));
      add(f, true, Math.min(s.to, f.end));
    }
    add(s.stretch, false, s.to);
  }
  return pieces;
}
