// @ts-check
// The entry: finds what is on the page and starts it.

import { readPicture } from "./data.js";
import { askPicture, followZoom } from "./detail.js";
import { startFigure } from "./figure.js";
import { startFlames } from "./flame.js";
import { button } from "./group.js";
import { startHeat } from "./heat.js";
import { start as follow } from "./live.js";
import { Stage } from "./stage.js";
import { makeSortable } from "./table.js";
import { startTheme } from "./theme.js";
import { startTracks } from "./tracks.js";
import { keepInHash } from "./zoom.js";

/** @type {WeakSet<Element>} */
const started = new WeakSet();

/**
 * fresh are the elements below root that were not started yet.
 * @param {ParentNode} root
 * @param {string} selector
 * @returns {HTMLElement[]}
 */
function fresh(root, selector) {
  const found = [...root.querySelectorAll(selector)].filter((e) => e instanceof HTMLElement && !started.has(e));
  for (const e of found) started.add(e);
  return /** @type {HTMLElement[]} */ (found);
}

/**
 * start starts what lies below root: charts, tables, flame graphs. What was
 * started before is left as it is, so it may be called again when something was
 * added. It never fails: what went wrong is said where the chart would be.
 * @param {ParentNode} root
 * @returns {Promise<void>}
 */
export async function start(root) {
  startFlames(root);
  for (const t of fresh(root, "table.sortable, #trials > .block table")) if (t instanceof HTMLTableElement) makeSortable(t);
  const figures = fresh(root, "figure.chart");
  const drawn = figures.filter((f) => f.dataset.kind === "heat" || f.dataset.kind === "tracks");
  for (const f of figures) if (!drawn.includes(f)) startFigure(f, null);
  const stage = drawn.length ? await openStage(drawn) : null;
  for (const f of drawn) {
    if (stage) (f.dataset.kind === "heat" ? startHeat : startTracks)(f, stage);
    startFigure(f, stage?.zoom ?? null);
  }
  if (stage) {
    stage.drawSeen();
    printAll(stage);
  }
}

/**
 * openStage opens the page's picture; null and a word in each figure if it
 * cannot be read.
 * @param {HTMLElement[]} figures
 * @returns {Promise<Stage | null>}
 */
async function openStage(figures) {
  /** @param {string} words */
  const tell = (words) => {
    for (const f of figures) {
      let p = f.querySelector("p.trouble");
      if (!p && !words) continue;
      if (!p) {
        p = document.createElement("p");
        p.className = "trouble";
        p.setAttribute("role", "status");
        f.querySelector(".picture")?.before(p);
      }
      p.textContent = words;
    }
  };
  try {
    const text = document.getElementById("picture")?.textContent, address = document.body.dataset.detail;
    if (!text && !address) throw new Error("the page does not contain it");
    if (!text) tell("Loading the picture …");
    const json = text ? JSON.parse(text) : await askPicture(address ?? "", { from: 0, to: 0 }, 1200);
    const stage = new Stage(await readPicture(json), Boolean(address));
    tell("");
    keepInHash(stage.zoom);
    if (address) followZoom(stage, address, tell);
    return stage;
  } catch (e) {
    tell(`This picture could not be drawn: ${e instanceof Error ? e.message : e}`);
    return null;
  }
}

/** printAll draws all panels before the page is printed. @param {Stage} stage */
function printAll(stage) {
  addEventListener("beforeprint", () => {
    const root = document.documentElement, before = root.dataset.theme;
    root.dataset.theme = "light"; // paper is
    stage.recolour();
    stage.drawSeen(true);
    addEventListener("afterprint", () => {
      if (before === undefined) delete root.dataset.theme;
      else root.dataset.theme = before;
    }, { once: true });
  });
}

/** begin starts the whole page; it sets data-ready on the root when all is drawn. */
async function begin() {
  let b = document.querySelector("button.theme");
  if (!b) {
    b = button("Theme", () => {});
    b.className = "theme";
    (document.querySelector("header") ?? document.body).prepend(b);
  }
  if (b instanceof HTMLButtonElement) startTheme(b);
  const live = document.getElementById("live");
  if (live && document.body.dataset.live) follow(document.body.dataset.live, live);
  await start(document);
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

if (typeof document !== "undefined") void begin();
