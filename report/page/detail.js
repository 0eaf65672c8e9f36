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
      stage.redraw();
      tell("");
    } catch (e) {
      if (!mine.signal.aborted) tell(`The detail could not be read (${e instanceof Error ? e.message : e}): what is drawn is coarse.`);
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
 * @param {import("./stage.js").Stage} stage
 * @param {string} address
 * @param {AbortSignal} signal
 */
async function readDetail(stage, address, signal) {
  const url = new URL(address, document.baseURI);
  const widest = Math.max(300, ...stage.panels.map((p) => p.element.clientWidth)) * (devicePixelRatio || 1);
  url.searchParams.set("from", String(Number(stage.zoom.from.toFixed(6))));
  url.searchParams.set("to", String(Number(stage.zoom.to.toFixed(6))));
  url.searchParams.set("columns", String(Math.min(2400, Math.round(widest))));
  const answer = await fetch(url, { signal });
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`.trim());
  const detail = await readPicture(await answer.json(), stage.picture);
  const { rows, low, high, settings } = stage.picture;
  if (detail.rows !== rows || Math.abs(detail.low / low - 1) > 1e-3 || Math.abs(detail.high / high - 1) > 1e-3) {
    throw new Error("its scale of latency is another: reload the page");
  }
  // In the order of the whole.
  return { ...detail, settings: settings.map((s) => detail.settings.find((d) => d.name === s.name) ?? { ...s, heat: null, collecting: null, stops: null, slowest: [], tracks: [] }) };
}
