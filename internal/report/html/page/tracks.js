// @ts-check
// The figure of timelines: a row of panels for each metric, one a setting, with
// one scale.

import { columnSeconds, stretchAt } from "./axis.js";
import { reading } from "./count.js";
import { dashes, paintCourse, topOf } from "./course.js";
import { setSheets } from "./figure.js";
import { addGroup, animate, element } from "./group.js";
import { format, moment } from "./scale.js";
import { cell, giveTable } from "./table.js";

/** @typedef {import("./stage.js").Stage} Stage */

/**
 * Metrics that share their panels.
 * @typedef {{title: string, unit: string, metrics: string[], labels: string[]}} Row
 */

const narrow = { left: 8, right: 8, top: 17, bottom: 20 }, labelled = { ...narrow, left: 56 };
const height = 64, leastWidth = 150;

/**
 * startTracks fills a figure with the timelines of all settings.
 * @param {HTMLElement} figure
 * @param {Stage} stage
 */
export function startTracks(figure, stage) {
  const place = figure.querySelector(".picture");
  if (!(place instanceof HTMLElement)) return;
  place.replaceChildren();
  const drawn = rowsOf(stage.picture).map((row) => {
    const group = addGroup(place, row.title, "");
    if (row.metrics.length > 1) group.head.insertBefore(keyOf(row), group.head.lastChild);
    return { title: row.title, panels: addRow(stage, group, row) };
  });
  giveTable(figure, tracksTable(stage.picture));
  setSheets(figure, { rows: () => tracksColumns(stage.picture), stage, groups: drawn, legend: false });
}

/**
 * rowsOf are the metrics of a picture, in its order; those of the heap together.
 * @param {import("./data.js").Picture} p
 * @returns {Row[]}
 */
export function rowsOf(p) {
  /** @type {Row[]} */
  const rows = [];
  const seen = new Set();
  for (const t of p.settings.flatMap((s) => s.tracks)) {
    if (seen.has(t.metric)) continue;
    seen.add(t.metric);
    const heap = t.metric.startsWith("heap") && t.unit === "B";
    const other = heap ? rows.find((r) => r.title === "heap") : undefined;
    if (other) {
      other.metrics.push(t.metric);
      other.labels.push(t.label);
    } else rows.push({ title: heap ? "heap" : t.label, unit: t.unit, metrics: [t.metric], labels: [t.label] });
  }
  for (const r of rows) {
    if (r.metrics.length === 1) r.title = r.labels[0];
    r.metrics.sort(); // the heap itself first, with a line without dashes
    r.labels.sort();
  }
  return rows;
}

/** @param {Row} row */
function keyOf(row) {
  const key = element("p", "key");
  row.labels.forEach((label, k) => {
    const item = element("span", "mark", label);
    const sample = element("i", `dash-${k % dashes.length}`);
    item.prepend(sample);
    key.append(item);
  });
  return key;
}

/**
 * @param {Stage} stage
 * @param {ReturnType<typeof addGroup>} group
 * @param {Row} row
 */
function addRow(stage, group, row) {
  const { settings } = stage.picture;
  const scale = topOf(settings.flatMap((s) => s.tracks.filter((t) => row.metrics.includes(t.metric))));
  group.panels.classList.add("small");
  const panels = settings.map((s, i) => {
    const box = element("div", "small-panel");
    if (settings.length > 1) box.append(element("p", "setting", s.name));
    group.panels.append(box);
    const panel = stage.addPanel(box, {
      margins: labelled, inner: (dpr) => Math.round(height * dpr),
      paint: (sheet) => paintCourse(sheet, stage, {
        setting: i, metrics: row.metrics, unit: row.unit, scale, labels: panel.margins.left === labelled.left,
      }),
    });
    return panel;
  });
  // As many beside each other as there is room for; the first of a line has the labels.
  const arrange = () => {
    const width = group.panels.clientWidth, spare = labelled.left - narrow.left;
    if (!width) return;
    const most = Math.max(1, Math.min(panels.length, Math.floor((width - spare) / leastWidth)));
    const columns = Math.ceil(panels.length / Math.ceil(panels.length / most));
    const each = Math.floor((width - spare) / columns);
    group.panels.style.gridTemplateColumns = `${each + spare}px repeat(${columns - 1}, ${each}px)`;
    if (columns === 1) group.panels.style.gridTemplateColumns = "100%";
    panels.forEach((p, i) => {
      p.margins = i % columns === 0 ? labelled : narrow;
      const name = p.element.previousElementSibling;
      if (name instanceof HTMLElement) name.style.paddingLeft = `${p.margins.left}px`;
    });
  };
  new ResizeObserver(arrange).observe(group.panels);
  animate(stage, group, panels, {
    hover: () => {}, row: () => {}, tell: () => group.say(tellReadings(stage, row)),
  });
  return panels;
}

/**
 * tellReadings tells what all settings read at the cursor.
 * @param {Stage} stage
 * @param {Row} row
 */
function tellReadings(stage, row) {
  const time = stage.zoom.cursor;
  if (time === null) return "";
  const { stretches, settings } = stage.picture, k = stretchAt(stretches, time);
  if (k < 0) return "";
  const words = settings.map((s, i) => {
    const values = row.metrics.map((metric) => {
      const fine = stage.detail ? stretchAt(stage.detail.stretches, time) : -1;
      const track = stage.setting(i, fine >= 0)?.tracks.find((t) => t.metric === metric);
      const stretch = fine >= 0 && stage.detail ? stage.detail.stretches[fine] : stretches[k];
      const x = track ? reading(track.last, stretch, time) : NaN;
      return Number.isNaN(x) ? "–" : format(x, row.unit);
    });
    return `${s.name}: ${values.join(", ")}`;
  });
  const at = stretches[k].from + time - stretches[k].start;
  return [`block ${stretches[k].block}, ${moment(at, (stage.zoom.to - stage.zoom.from) / 1000)}`, ...words].join(" · ");
}

/**
 * tracksTable is what the timelines show in numbers, a line for each metric and
 * setting over all its trials.
 * @param {import("./data.js").Picture} p
 * @returns {{head: string[], rows: import("./table.js").Cell[][]}}
 */
export function tracksTable(p) {
  const head = ["metric", "setting", "first", "least", "greatest", "last"];
  const rows = rowsOf(p).flatMap((row) => row.metrics.flatMap((metric, k) => p.settings.flatMap((s) => {
    const t = s.tracks.find((x) => x.metric === metric);
    if (!t) return [];
    const number = (/** @type {number} */ x) => cell(Number.isNaN(x) ? "" : format(x, t.unit), x);
    const known = t.last.filter((x) => !Number.isNaN(x));
    const least = t.min.reduce((m, x) => (x < m ? x : m), Infinity), greatest = t.max.reduce((m, x) => (x > m ? x : m), -Infinity);
    const ends = known.length ? [known[0], least, greatest, known[known.length - 1]] : [NaN, NaN, NaN, NaN];
    return [[cell(row.labels[k]), cell(s.name), ...ends.map(number)]];
  })));
  return { head, rows };
}

/**
 * tracksColumns is all that the timelines hold, a line for each column with a
 * reading, in base units.
 * @param {import("./data.js").Picture} p
 * @returns {string[][]}
 */
export function tracksColumns(p) {
  const number = (/** @type {number} */ x, digits = 7) => (Number.isNaN(x) ? "" : String(Number(x.toPrecision(digits))));
  const lines = [["metric", "setting", "block", "trial", "from_sec", "to_sec", "least", "greatest", "last"]];
  for (const s of p.settings) {
    for (const t of s.tracks) {
      p.stretches.forEach((stretch, k) => {
        const width = columnSeconds(stretch);
        for (let i = 0; i < stretch.columns; i++) {
          const c = stretch.first + i;
          if (Number.isNaN(t.last[c])) continue;
          lines.push([
            t.metric, s.name, String(stretch.block), String(s.trials[k] || ""), number(stretch.from + i * width, 9),
            number(stretch.from + (i + 1) * width, 9), number(t.min[c]), number(t.max[c]), number(t.last[c]),
          ]);
        }
      });
    }
  }
  return lines;
}
