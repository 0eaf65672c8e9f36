// @ts-check
// What a picture holds, opened: JSON whose columns of numbers are packed. The
// other side of it is PictureJSON in package report.

import { place } from "./axis.js";

/**
 * One setting of a picture. Counts are column by column, the fastest row first.
 * What nobody measured is null.
 * @typedef {object} Setting
 * @property {string} name
 * @property {number[]} trials number of the trial, by stretch; 0 where there is none
 * @property {boolean} whole false: counts are of a sample of the requests
 * @property {boolean} seconds true: counts are known by the second, of when requests were done
 * @property {Uint32Array | null} heat
 * @property {Float32Array | null} collecting share of a column's time, NaN where unknown
 * @property {Uint32Array | null} stops stop-the-worlds that began in a column
 * @property {Slow[]} slowest
 * @property {Track[]} tracks
 */

/**
 * One slow request; at and latency are in seconds, at since its trial's window began.
 * @typedef {{trial: number, step: string, at: number, latency: number, status: number, met: boolean | null}} Slow
 */

/**
 * A series: least, greatest and last reading by column; NaN is no reading.
 * @typedef {{metric: string, label: string, unit: string, min: Float32Array, max: Float32Array, last: Float32Array}} Track
 */

/**
 * All settings on one axis of time and with one scale of latency (in seconds; 0
 * to 0 if no latency is known, and then there is no heat).
 * @typedef {{stretches: import("./axis.js").Stretch[], rows: number, low: number, high: number, settings: Setting[]}} Picture
 */

/**
 * unpack opens base64 of gzip of byte-shuffled little-endian values of 4 bytes.
 * @param {string} text
 * @returns {Promise<Uint32Array>}
 */
export async function unpack(text) {
  const bytes = await gunzip(text);
  if (bytes.length % 4 !== 0) throw new Error(`read picture: ${bytes.length} bytes are not a whole number of values`);
  const n = bytes.length / 4;
  const values = new Uint32Array(n);
  for (let i = 0; i < n; i++) {
    values[i] = bytes[i] | (bytes[i + n] << 8) | (bytes[i + 2 * n] << 16) | (bytes[i + 3 * n] << 24);
  }
  return values;
}

/**
 * gunzip opens base64 of gzip.
 * @param {string} text
 * @returns {Promise<Uint8Array>}
 */
export async function gunzip(text) {
  const raw = atob(text.trim());
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * readPicture opens the JSON of a picture. Of a part of another picture, whole
 * is that one: it says where on the axis the part lies.
 * @param {any} json
 * @param {Picture} [whole]
 * @returns {Promise<Picture>}
 */
export async function readPicture(json, whole) {
  const stretches = place(json.axis ?? [], whole?.stretches);
  const columns = stretches.reduce((n, s) => n + s.columns, 0);
  if (columns === 0) throw new Error("read picture: no columns");
  /** @param {string | null | undefined} text @param {number} want */
  const counts = async (text, want) => {
    if (!text) return null;
    const values = await unpack(text);
    if (values.length !== want) throw new Error(`read picture: ${values.length} values where ${want} belong`);
    return values;
  };
  /** @param {string | null | undefined} text */
  const numbers = async (text) => {
    const values = await counts(text, columns);
    return values && new Float32Array(values.buffer);
  };
  const scaled = json.low > 0 && json.high > json.low && json.rows > 0;
  const empty = new Float32Array(columns).fill(NaN);
  const settings = await Promise.all((json.settings ?? []).map(async (/** @type {any} */ s) => {
    const [heat, collecting, stops, tracks] = await Promise.all([
      counts(scaled ? s.heat : null, columns * json.rows), numbers(s.collecting), counts(s.stops, columns),
      Promise.all((s.tracks ?? []).map(async (/** @type {any} */ t) => {
        const [min, max, last] = await Promise.all([numbers(t.min), numbers(t.max), numbers(t.last)]);
        return {
          metric: String(t.metric), label: String(t.label ?? t.metric), unit: String(t.unit ?? ""),
          min: min ?? empty, max: max ?? empty, last: last ?? empty,
        };
      })),
    ]);
    return {
      name: String(s.name), trials: s.trials ?? [], whole: s.whole !== false, seconds: Boolean(s.seconds),
      heat, collecting, stops, slowest: s.slowest ?? [], tracks,
    };
  }));
  return { stretches, rows: scaled ? json.rows : 0, low: scaled ? json.low : 0, high: scaled ? json.high : 0, settings };
}
