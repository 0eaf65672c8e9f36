// @ts-check
// On a served page the part that is looked at is asked for in full, once the
// zoom has come to rest.

import { readPicture } from "./data.js";

const rest = 150; // ms

/**
 * followZoom asks for details as the zoom moves, and draws them. tell is told
 * what went wrong, or "".
 * @param {import("./stage.js").Stage} stage
 * @param {string} address that answers ?from=&to=&columns= with a picture
 * @param {(words: string) => void} tell
 */
export function followZoom(stage, address, tell) {
  let timer = 0;
  /** @type {AbortController | null} */
  let asked = null;
  const ask = async () => {
    asked?.abort();
    if (stage.zoom.isWhole) return;
    const mine = asked = new AbortController();
    try {
      const detail = await readDetail(stage, address, mine.signal);
      if (mine.signal.aborted) return;
      stage.detail = detail;
      const drawn = () => { // for who waits for it, such as a test
        stage.onDraw.delete(drawn);
        if (!mine.signal.aborted) document.body.dataset.zoomed = `${stage.zoom.from}..${stage.zoom.to}`;
      };
      stage.onDraw.add(drawn);
      stage.redraw();
      tell("");
    } catch (e) {
      if (!mine.signal.aborted) tell(`The detail could not be read (${e instanceof Error ? e.message : e}): the picture stays coarse.`);
    }
  };
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(ask, rest);
  };
  stage.zoom.onRange.add(() => {
    asked?.abort();
    later();
  });
  if (!stage.zoom.isWhole) later();
}

/**
 * askPicture asks for the JSON of a part of the axis, or of all of it: 0 to 0.
 * @param {string} address
 * @param {import("./axis.js").Range} range
 * @param {number} columns
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function askPicture(address, range, columns, signal) {
  const url = new URL(address, document.baseURI);
  url.searchParams.set("from", String(Number(range.from.toFixed(6))));
  url.searchParams.set("to", String(Number(range.to.toFixed(6))));
  url.searchParams.set("columns", String(columns));
  const answer = await fetch(url, { signal });
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`.trim());
  return answer.json();
}

/**
 * @param {import("./stage.js").Stage} stage
 * @param {string} address
 * @param {AbortSignal} signal
 */
async function readDetail(stage, address, signal) {
  // Cells of two pixels are seen where there is one request in each.
  const columns = Math.max(300, ...stage.panels.map((p) => Math.round(p.element.clientWidth / 2)));
  const detail = await readPicture(await askPicture(address, stage.zoom, Math.min(2400, columns), signal), stage.picture);
  const { rows, low, high, settings } = stage.picture;
  const differ = (/** @type {number} */ a, /** @type {number} */ b) => Math.abs(a - b) > 1e-3 * b;
  if (detail.rows !== rows || differ(detail.low, low) || differ(detail.high, high)) {
    throw new Error("its latency scale differs: reload the page");
  }
  // In the order of the whole.
  const nothing = { heat: null, collecting: null, stops: null, slowest: [], tracks: [] };
  return { ...detail, settings: settings.map((s) => detail.settings.find((d) => d.name === s.name) ?? { ...s, ...nothing }) };
}
