// @ts-check
// The figure of heat maps: response times over time, one panel a setting.

import { columnSeconds, momentOf } from "./axis.js";
import { edge, mean, parts, percentile, sumColumns, total } from "./count.js";
import { cellAt, heatInner, heatMargins, paintHeat, paintLegend, rowPixels } from "./density.js";
import { setSheets } from "./figure.js";
import { addGroup, animate, button, element } from "./group.js";
import { format, moment } from "./scale.js";
import { cell, giveTable, makeSortable, makeTable } from "./table.js";

/** @typedef {import("./stage.js").Stage} Stage */

/**
 * startHeat fills a figure with the heat maps of all settings.
 * @param {HTMLElement} figure
 * @param {Stage} stage
 */
export function startHeat(figure, stage) {
  const place = figure.querySelector(".picture");
  if (!(place instanceof HTMLElement)) return;
  place.replaceChildren();
  if (!stage.picture.rows) {
    place.append(element("p", "trouble", "No response time is known."));
    return;
  }
  addLegend(place, stage);
  const settings = stage.picture.settings;
  /** @type {{title: string, panels: import("./stage.js").Panel[]}[]} */
  const drawn = [];
  settings.forEach((s, i) => {
    const note = noteOf(s), group = addGroup(place, s.name, note);
    const panel = stage.addPanel(group.panels, {
      margins: heatMargins, inner: (dpr) => heatInner(stage.picture, dpr), paint: (sheet) => paintHeat(sheet, stage, i),
    });
    drawn.push({ title: note ? `${s.name} (${note})` : s.name, panels: [panel] });
    let row = -1;
    animate(stage, group, [panel], {
      hover: (_, y) => { row = rowAt(stage, y); },
      row: (by) => { row = Math.min(stage.picture.rows - 1, Math.max(0, row + by)); },
      tell: () => group.say(tellCell(stage, i, panel, row)),
    });
    addSlowest(place, stage, i, (time, latency) => {
      const { rows, low, high } = stage.picture;
      row = Math.min(rows - 1, Math.max(0, Math.floor((rows * Math.log(latency / low)) / Math.log(high / low))));
      group.element.focus();
      group.element.scrollIntoView({ block: "nearest" });
      stage.zoom.point(time);
      group.say(tellCell(stage, i, panel, row));
    });
  });
  giveTable(figure, heatTable(stage.picture));
  setSheets(figure, { rows: () => heatColumns(stage.picture), stage, groups: drawn, legend: true });
}

/** @param {import("./data.js").Setting} s */
function noteOf(s) {
  const notes = [];
  if (!s.heat) notes.push("no request is known");
  else if (!s.whole) notes.push("a sample of the requests");
  if (s.heat && s.seconds) notes.push("by the second of their end");
  return notes.join(", ");
}

/** @param {Stage} stage @param {number} y in CSS pixels of the panel */
function rowAt(stage, y) {
  const dpr = devicePixelRatio || 1, { rows } = stage.picture;
  const row = Math.floor(rows - ((y - heatMargins.top) * dpr) / rowPixels(rows, dpr));
  return row >= 0 && row < rows ? row : -1;
}

/**
 * @param {Stage} stage
 * @param {number} i
 * @param {import("./stage.js").Panel} panel
 * @param {number} row
 */
function tellCell(stage, i, panel, row) {
  const time = stage.zoom.cursor, first = panel.segments[0];
  if (time === null || !first) return "";
  const second = ((first.to - first.from) / (first.x1 - first.x0)) / (devicePixelRatio || 1);
  const c = cellAt(stage, i, time, second, row);
  if (!c) return "";
  const words = [c.trial ? `trial ${c.trial}` : `block ${c.block}, no trial`, moment(c.at, c.width)];
  if (c.known && row >= 0) words.push(`${format(c.low, "s")} to ${format(c.high, "s")}: ${about(c.count)} of ${about(c.all)} requests in ${format(c.width, "s")}`);
  else if (c.known) words.push(`${about(c.all)} requests in ${format(c.width, "s")}`);
  if (!Number.isNaN(c.collecting)) words.push(c.collecting > 0 ? `collecting ${format(c.collecting, "%")}` : "not collecting");
  if (c.stops) words.push(`${c.stops} ${c.stops === 1 ? "stop" : "stops"} of the world`);
  return words.join(" · ");
}

/** about prints a count: greater ones are kept to some bits only. @param {number} n */
function about(n) {
  return n < 32 ? String(n) : `about ${Number(n.toPrecision(3))}`;
}

/** @param {HTMLElement} place @param {Stage} stage */
function addLegend(place, stage) {
  const legend = element("p", "legend");
  const canvas = element("canvas");
  canvas.setAttribute("aria-hidden", "true");
  const marks = [
    ["mark-band", "a collection under way (darker: more of the time)"],
    ["mark-stop", "the world was stopped"], ["mark-slow", "one of the slowest requests"],
  ].map(([name, words]) => {
    const item = element("span", "mark", words);
    item.prepend(element("i", name));
    return item;
  });
  legend.append(canvas, element("span", "mark", "requests per second, per doubling of latency"), ...marks);
  place.append(legend);
  stage.onDraw.add(() => {
    const dpr = devicePixelRatio || 1, w = Math.round(150 * dpr), ctx = canvas.getContext("2d");
    if (!ctx) return;
    canvas.width = w;
    canvas.height = Math.round(22 * dpr);
    canvas.style.width = `${w / dpr}px`;
    canvas.style.height = `${canvas.height / dpr}px`;
    paintLegend(ctx, stage, { x: 0, y: 0, w, dpr, colours: stage.colours });
  });
}

/**
 * addSlowest lists the slowest requests of setting i below its panel.
 * @param {HTMLElement} place
 * @param {Stage} stage
 * @param {number} i
 * @param {(time: number, latency: number) => void} point moves the cursor of its panel there
 */
function addSlowest(place, stage, i, point) {
  const { slowest, trials, name } = stage.picture.settings[i];
  if (!slowest.length) return;
  const details = element("details", "slowest");
  details.append(element("summary", "", `The ${slowest.length} slowest requests of ${name}`));
  const rows = slowest.map((s) => {
    const time = momentOf(stage.picture.stretches, trials, s.trial, s.at);
    const show = button("Show", () => {
      const around = Math.max(2 * s.latency, stage.zoom.seconds / 400, stage.zoom.least / 2);
      stage.zoom.set({ from: time - around, to: time + around });
      point(time, s.latency);
    });
    show.setAttribute("aria-label", `Show ${format(s.latency, "s")} in trial ${s.trial}`);
    return [
      cell(String(s.trial), s.trial), cell(s.step), cell(moment(s.at, 0.001), s.at), cell(format(s.latency, "s"), s.latency),
      cell(s.status ? String(s.status) : "none", s.status), cell(s.met === null ? "" : s.met ? "yes" : "no"), Number.isNaN(time) ? cell("") : show,
    ];
  });
  const table = makeTable(["trial", "step", "at", "latency", "status", "met a collection", "moment"], rows);
  makeSortable(table);
  details.append(table);
  place.append(details);
}

/**
 * heatTable is what the heat maps show in numbers: up to twelve parts of the
 * time, each for all settings.
 * @param {import("./data.js").Picture} p
 * @returns {{head: string[], rows: import("./table.js").Cell[][]}}
 */
export function heatTable(p) {
  const head = ["time", "setting", "trial", "requests about", "p50 about", "p99 about", "slowest about", "collecting"];
  const rows = parts(p.stretches, 12).flatMap((part) => p.settings.map((s) => {
    const step = Math.min(1, (part.to - part.from) / 100);
    const time = part.first === part.last ? `${part.label}, ${moment(part.from, step)} to ${moment(part.to, step)}` : part.label;
    const trials = s.trials.slice(part.first, part.last + 1).filter((t) => t > 0).join(", ");
    const sum = s.heat ? sumColumns(s.heat, p.rows, part.a, part.b) : new Float64Array(p.rows);
    const n = total(sum), collecting = mean(s.collecting, part.a, part.b);
    const latency = (/** @type {number} */ q) => {
      const x = percentile(p, sum, q);
      return cell(Number.isNaN(x) ? "" : format(x, "s"), x);
    };
    return [
      cell(time), cell(s.name), cell(trials), cell(s.heat ? String(n) : "", s.heat ? n : NaN), latency(0.5), latency(0.99), latency(1),
      cell(Number.isNaN(collecting) ? "" : format(collecting, "%"), collecting),
    ];
  }));
  return { head, rows };
}

/**
 * heatColumns is all that the heat maps hold, a line for each column of each
 * setting: for a spreadsheet or a program, so in base units.
 * @param {import("./data.js").Picture} p
 * @returns {string[][]}
 */
export function heatColumns(p) {
  const number = (/** @type {number} */ x, digits = 6) => (Number.isNaN(x) ? "" : String(Number(x.toPrecision(digits))));
  const head = ["setting", "block", "trial", "from_sec", "to_sec", "requests", "p50_about_sec", "p99_about_sec", "slowest_about_sec", "collecting_frac", "stops"];
  for (let r = 0; r < p.rows; r++) head.push(`n_from_${number(edge(p, r), 4)}_sec`);
  const lines = [head];
  for (const s of p.settings) {
    p.stretches.forEach((stretch, k) => {
      const width = columnSeconds(stretch);
      for (let i = 0; i < stretch.columns; i++) {
        const c = stretch.first + i, sum = s.heat ? sumColumns(s.heat, p.rows, c, c + 1) : null;
        lines.push([
          s.name, String(stretch.block), String(s.trials[k] || ""), number(stretch.from + i * width, 9), number(stretch.from + (i + 1) * width, 9),
          sum ? String(total(sum)) : "", ...[0.5, 0.99, 1].map((q) => (sum ? number(percentile(p, sum, q), 4) : "")),
          number(s.collecting?.[c] ?? NaN), s.stops ? String(s.stops[c]) : "", ...(sum ? Array.from(sum, String) : []),
        ]);
      }
    });
  }
  return lines;
}
