// @ts-check
// Numbers as people read them: units, ticks, moments. The units are those of
// report/number.go.

/** @typedef {[unit: string, factor: number]} Step */

/** @type {Step[]} */
const timeSteps = [["s", 1], ["ms", 1e-3], ["µs", 1e-6], ["ns", 1e-9]];
/** @type {Step[]} */
const byteSteps = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10], ["B", 1]];
/** @type {Step[]} */
const shareSteps = [["%", 0.01]];

/**
 * unitSteps are the units that a base unit is printed in: "sec", "B", "frac" or
 * what else the name of a metric ends in; "/req" and the like stay behind.
 * @param {string} unit
 * @returns {{steps: Step[], per: string}}
 */
export function unitSteps(unit) {
  const slash = unit.indexOf("/");
  const head = slash < 0 ? unit : unit.slice(0, slash);
  const per = slash < 0 ? "" : unit.slice(slash);
  switch (head) {
    case "s": case "sec": return { steps: timeSteps, per };
    case "B": return { steps: byteSteps, per };
    case "%": case "frac": return { steps: shareSteps, per };
  }
  return { steps: [[head, 1]], per };
}

/**
 * stepFor chooses the unit in which x is at least 1, or else the smallest.
 * @param {number} x
 * @param {string} unit
 * @returns {{unit: string, factor: number}}
 */
export function stepFor(x, unit) {
  const { steps, per } = unitSteps(unit);
  const size = Math.abs(x) * (1 + 1e-9);
  const step = (size > 0 && steps.find(([, factor]) => size >= factor)) || steps[size > 0 ? steps.length - 1 : 0];
  return { unit: step[0] + per, factor: step[1] };
}

/**
 * format prints x with three significant digits and its unit; "?" if it is not
 * a number. Whole numbers without a unit stay whole.
 * @param {number} x
 * @param {string} [unit]
 * @returns {string}
 */
export function format(x, unit = "") {
  if (!Number.isFinite(x)) return "?";
  if (x === 0) return "0";
  let { unit: u, factor } = stepFor(x, unit);
  let digits = threeDigits(x / factor);
  // 999.6 ms is no "1000 ms", but "1 s".
  const up = stepFor(Number(digits) * factor, unit);
  if (up.factor !== factor) digits = threeDigits(x / up.factor), u = up.unit;
  return join(digits, u);
}

/** @param {string} number @param {string} unit */
function join(number, unit) {
  if (unit === "" || unit === "%") return number + unit;
  return number + (unit.startsWith("/") ? "" : " ") + unit;
}

/** @param {number} x */
function threeDigits(x) {
  const size = Math.abs(x);
  if (size >= 100 || Math.abs(x - Math.round(x)) < 1e-9 * size) return x.toFixed(0);
  const decimals = Math.min(9, 2 - Math.floor(Math.log10(size)));
  // Rounding may add a digit: 9.999 is 10.0, not 10.00.
  return x.toFixed(size + 0.5 * 10 ** -decimals >= 10 ** (3 - decimals) ? decimals - 1 : decimals);
}

/**
 * ticks are round numbers from 0 to max, about count of them: 1, 2 or 5 times a
 * power of ten, powers of two for bytes. The last is at or above max, if it is
 * to be the top of the axis.
 * @param {number} max
 * @param {number} count
 * @param {string} unit
 * @returns {number[]}
 */
export function ticks(max, count, unit) {
  if (!(max > 0) || !Number.isFinite(max)) return [0];
  const raw = max / count;
  const step = unitSteps(unit).steps === byteSteps ? 2 ** Math.ceil(Math.log2(raw)) : roundUp(raw);
  const list = [0];
  while (list[list.length - 1] < max * (1 - 1e-9)) list.push(list.length * step);
  return list;
}

/**
 * roundUp is the least of 1, 2, 5 times a power of ten that is not below x.
 * @param {number} x
 * @returns {number}
 */
export function roundUp(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  for (const m of [1, 2, 5]) if (m * power >= x * (1 - 1e-9)) return m * power;
  return 10 * power;
}

/**
 * tickLabels prints ticks in one unit, that of the greatest.
 * @param {number[]} list
 * @param {string} unit
 * @returns {string[]}
 */
export function tickLabels(list, unit) {
  const { unit: u, factor } = stepFor(Math.max(...list), unit);
  const step = list.length > 1 ? (list[1] - list[0]) / factor : 1;
  const decimals = Math.min(6, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return list.map((x) => (x === 0 ? "0" : join(String(Number((x / factor).toFixed(decimals))), u)));
}

/**
 * logTicks are the powers of ten from low to high, and 2 and 5 times them where
 * there are few.
 * @param {number} low
 * @param {number} high
 * @returns {number[]}
 */
export function logTicks(low, high) {
  const decades = Math.log10(high / low);
  const steps = decades > 2.5 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 5];
  const list = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) {
    for (const m of steps) {
      const x = e < 0 ? m / 10 ** -e : m * 10 ** e;
      if (x >= low * (1 - 1e-9) && x <= high * (1 + 1e-9)) list.push(x);
    }
  }
  return list;
}

const clockSteps = [60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/**
 * timeStep is a round number of seconds that is not below least.
 * @param {number} least
 * @returns {number}
 */
export function timeStep(least) {
  if (least <= 10) return roundUp(least);
  for (const s of [20, 30, ...clockSteps]) if (s >= least) return s;
  return 86400 * roundUp(least / 86400);
}

/**
 * moment prints a time since a trial's window began, as precise as step: "0.81 s",
 * "5m12s", "1h30m".
 * @param {number} seconds
 * @param {number} step in seconds
 * @returns {string}
 */
export function moment(seconds, step) {
  const decimals = step >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step) - 1e-9));
  const rounded = Number(seconds.toFixed(decimals));
  if (rounded === 0) return "0 s";
  if (rounded < 60) return `${rounded.toFixed(decimals)} s`;
  const h = Math.floor(rounded / 3600), m = Math.floor((rounded - h * 3600) / 60);
  const s = rounded - h * 3600 - m * 60;
  const pad = (/** @type {string} */ t, /** @type {boolean} */ on) => (on && !/^\d\d/.test(t) ? "0" + t : t);
  let text = h > 0 ? `${h}h` : "";
  if (m > 0 || s > 0 || h === 0) text += pad(String(m), h > 0) + "m";
  if (step < 60 && (s > 0 || decimals > 0)) text += pad(s.toFixed(decimals), true) + "s";
  return text;
}
