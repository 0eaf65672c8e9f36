// @ts-check
// What every figure has: buttons that save it as CSV and as PNG.

import { readColours } from "./colour.js";
import { csv, tableRows } from "./csv.js";
import { paintLegend } from "./density.js";
import { button, element } from "./group.js";

/**
 * What a figure drawn on canvases can be saved from.
 * @typedef {object} Sheets
 * @property {() => string[][]} rows of its CSV, head included
 * @property {import("./stage.js").Stage} stage
 * @property {{title: string, panels: import("./stage.js").Panel[]}[]} groups
 * @property {boolean} legend
 */

/** @type {WeakMap<HTMLElement, Sheets>} */
const sheetsOf = new WeakMap();

/**
 * setSheets tells what a figure is saved from.
 * @param {HTMLElement} figure
 * @param {Sheets} sheets
 */
export function setSheets(figure, sheets) {
  sheetsOf.set(figure, sheets);
}

/**
 * startFigure gives a figure its buttons; zoom is of the charts that have one.
 * @param {HTMLElement} figure
 * @param {import("./zoom.js").Zoom | null} zoom
 */
export function startFigure(figure, zoom) {
  const name = figure.dataset.name || figure.id || "chart";
  const tools = element("div", "tools");
  if (zoom) addZoomTools(tools, zoom);
  const status = element("span", "status");
  status.setAttribute("role", "status");
  /** @param {string} what @param {() => Promise<Blob>} make */
  const saver = (what, make) => async () => {
    try {
      status.textContent = "";
      save(await make(), `${name}.${what}`);
    } catch (e) {
      status.textContent = `save ${what}: ${e instanceof Error ? e.message : e}`;
    }
  };
  /** @returns {HTMLTableElement[]} */
  const tables = () => [...figure.querySelectorAll("details.table table")].filter((t) => t instanceof HTMLTableElement);
  if (tables().length) {
    tools.append(button("CSV", saver("csv", async () => {
      // What a table shows, and its unit, is said in its caption only. Several tables have an empty line between them.
      const rows = sheetsOf.get(figure)?.rows() ??
        tables().flatMap((t, i) => [...(i ? [[]] : []), [t.caption?.textContent?.trim() ?? ""], ...tableRows(t)]);
      return new Blob([csv(rows)], { type: "text/csv;charset=utf-8" });
    }), "Save the numbers of this chart"));
  }
  if (figure.querySelector(".picture svg, .picture canvas")) tools.append(button("PNG", saver("png", () => pngOf(figure)), "Save this chart as a picture"));
  tools.append(status);
  const title = figure.querySelector("figcaption h3")?.textContent?.trim();
  for (const b of tools.querySelectorAll("button")) if (title) b.setAttribute("aria-label", `${b.textContent}: ${title}`);
  figure.querySelector("figcaption")?.append(tools);
}

/** @param {HTMLElement} tools @param {import("./zoom.js").Zoom} zoom */
function addZoomTools(tools, zoom) {
  const whole = button("Whole", () => zoom.whole(), "Show the whole time");
  tools.append(
    element("span", "hint", "Drag to zoom, double-click to show all"),
    button("−", () => zoom.scale(2), "Zoom out"), button("+", () => zoom.scale(0.5), "Zoom in"), whole,
  );
  const mark = () => whole.setAttribute("aria-disabled", String(zoom.isWhole));
  zoom.onRange.add(mark);
  mark();
}

/** save hands a file to the user. @param {Blob} blob @param {string} name */
function save(blob, name) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = name.replace(/[^\w.=+-]+/g, "-");
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60_000);
}

/**
 * pngOf draws a figure with its title at twice the size of the screen's pixels.
 * @param {HTMLElement} figure
 * @returns {Promise<Blob>}
 */
async function pngOf(figure) {
  const dpr = 2, colours = readColours(), sheets = sheetsOf.get(figure);
  const pieces = sheets ? panelPieces(sheets, dpr, colours) : await svgPieces(figure, dpr);
  const edge = 16 * dpr, head = 52 * dpr;
  const width = Math.max(320 * dpr, ...pieces.map((p) => p.x + p.canvas.width)) + 2 * edge;
  const height = head + Math.max(...pieces.map((p) => p.y + p.canvas.height)) + edge;
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const ctx = canvas.getContext("2d");
  if (!ctx) throw new Error("no canvas");
  ctx.fillStyle = colours.ground;
  ctx.fillRect(0, 0, width, height);
  ctx.textBaseline = "top";
  const write = (/** @type {string} */ words, /** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ font, /** @type {string} */ colour) => {
    ctx.font = font;
    ctx.fillStyle = colour;
    ctx.fillText(words, x, y, width - x - edge);
  };
  const textOf = (/** @type {string} */ q) => figure.querySelector(q)?.textContent?.replace(/\s+/g, " ").trim() ?? "";
  write(textOf("figcaption h3"), edge, 12 * dpr, `600 ${15 * dpr}px ${colours.font}`, colours.text);
  write(textOf(".shows"), edge, 33 * dpr, `${11 * dpr}px ${colours.font}`, colours.faint);
  for (const p of pieces) {
    ctx.font = `600 ${12 * dpr}px ${colours.font}`;
    const title = shorten(ctx, p.title, p.canvas.width - p.indent - 4 * dpr);
    write(title, edge + p.x + p.indent, head + p.y - 17 * dpr, ctx.font, colours.text);
    ctx.drawImage(p.canvas, edge + p.x, head + p.y);
  }
  return new Promise((done, fail) => canvas.toBlob((b) => (b ? done(b) : fail(new Error("the picture is too large")))));
}

/** @param {CanvasRenderingContext2D} ctx @param {string} words @param {number} width */
function shorten(ctx, words, width) {
  if (ctx.measureText(words).width <= width) return words;
  let n = words.length;
  while (n > 0 && ctx.measureText(words.slice(0, n) + "…").width > width) n--;
  return words.slice(0, n) + "…";
}

/** @typedef {{canvas: HTMLCanvasElement, x: number, y: number, title: string, indent: number}} PNGPiece */

/**
 * panelPieces draws all panels as they stand on the page.
 * @param {Sheets} sheets
 * @param {number} dpr
 * @param {import("./colour.js").Colours} colours
 * @returns {PNGPiece[]}
 */
function panelPieces({ stage, groups, legend }, dpr, colours) {
  /** @type {PNGPiece[]} */
  const pieces = [];
  let y = 0;
  if (legend) {
    const canvas = document.createElement("canvas");
    canvas.width = 400 * dpr;
    canvas.height = 24 * dpr;
    const ctx = canvas.getContext("2d");
    if (ctx) {
      paintLegend(ctx, stage, { x: 0, y: 0, w: 150 * dpr, dpr, colours });
      ctx.textAlign = "left";
      ctx.fillText("requests per second, per doubling of latency", 160 * dpr, 0);
    }
    pieces.push({ canvas, x: 0, y, title: "", indent: 0 });
    y += canvas.height + 4 * dpr;
  }
  for (const g of groups) {
    const origin = g.panels[0].element.getBoundingClientRect();
    let bottom = y;
    g.panels.forEach((p, i) => {
      const canvas = document.createElement("canvas");
      const at = p.element.getBoundingClientRect();
      stage.paintOn(p, canvas, p.element.clientWidth || 600, dpr, colours);
      const top = y + 20 * dpr + Math.max(0, at.top - origin.top) * dpr;
      const name = p.element.previousElementSibling?.textContent ?? "";
      const title = g.panels.length === 1 ? g.title : i === 0 ? `${g.title}: ${name}` : name;
      pieces.push({ canvas, x: (at.left - origin.left) * dpr, y: top, title, indent: g.panels.length > 1 && i > 0 ? p.margins.left * dpr : 0 });
      bottom = Math.max(bottom, top + canvas.height);
    });
    y = bottom + 6 * dpr;
  }
  return pieces;
}

const presentation = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity",
  "font-family", "font-size", "font-weight", "font-style", "text-anchor", "dominant-baseline", "visibility", "display", "color", "paint-order",
];

/**
 * svgPieces draws the SVGs of a figure with the colours that they have now.
 * @param {HTMLElement} figure
 * @param {number} dpr
 * @returns {Promise<PNGPiece[]>}
 */
async function svgPieces(figure, dpr) {
  /** @type {PNGPiece[]} */
  const pieces = [];
  let y = 0;
  for (const svg of figure.querySelectorAll(".picture svg")) {
    const at = svg.getBoundingClientRect(), copy = /** @type {SVGElement} */ (svg.cloneNode(true));
    if (!at.width) continue;
    const from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
    from.forEach((e, i) => {
      const style = getComputedStyle(e);
      for (const name of presentation) {
        const value = style.getPropertyValue(name);
        if (value) to[i].setAttribute(name, value);
      }
      to[i].removeAttribute("class");
    });
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", String(at.width * dpr));
    copy.setAttribute("height", String(at.height * dpr));
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(at.width * dpr);
    canvas.height = Math.round(at.height * dpr);
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    pieces.push({ canvas, x: 0, y, title: "", indent: 0 });
    y += canvas.height + 8 * dpr;
  }
  if (!pieces.length) throw new Error("no picture");
  return pieces;
}
