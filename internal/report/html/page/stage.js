// @ts-check
// The stage: what all charts of a picture share (data, zoom, colours), the
// panels that stand on it, and when they are drawn: those on screen, once a frame.

import { cover, timeAt, xAt } from "./axis.js";
import { readColours } from "./colour.js";
import { prepare } from "./sheet.js";
import { Zoom } from "./zoom.js";

/**
 * A panel is one plot on one canvas.
 * @typedef {object} Panel
 * @property {HTMLElement} element positioned; holds canvas, cursor and selection
 * @property {HTMLCanvasElement} canvas
 * @property {HTMLElement} cursor
 * @property {HTMLElement} selection
 * @property {import("./sheet.js").Margins} margins
 * @property {(dpr: number) => number} inner height of the plot in device pixels
 * @property {(sheet: import("./sheet.js").Sheet) => void} paint
 * @property {import("./axis.js").Segment[]} segments in CSS pixels, as last drawn
 * @property {boolean} seen
 * @property {boolean} stale
 */

export class Stage {
  /** @param {import("./data.js").Picture} picture @param {boolean} more true if a part can be asked for in full */
  constructor(picture, more) {
    this.picture = picture;
    /** A part of the picture with finer columns. @type {import("./data.js").Picture | null} */
    this.detail = null;
    const finest = Math.min(...picture.stretches.map((s) => (s.to - s.from) / s.columns));
    const seconds = picture.stretches[picture.stretches.length - 1].end;
    this.zoom = new Zoom(seconds, Math.min(seconds, more ? Math.max(1e-4, seconds * 1e-7) : finest * 8));
    this.colours = readColours();
    /** @type {Panel[]} */
    this.panels = [];
    this.frame = 0;
    this.rest = 0;
    /** Called after panels were drawn. @type {Set<() => void>} */
    this.onDraw = new Set();
    this.watch();
  }

  watch() {
    this.zoom.onRange.add(() => this.redraw());
    this.zoom.onCursor.add(() => this.moveCursors());
    const recolour = () => this.recolour();
    new MutationObserver(recolour).observe(document.documentElement, { attributeFilter: ["data-theme", "class"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
    addEventListener("resize", () => this.redraw()); // the device's pixels may have changed too
    this.seeing = new IntersectionObserver((entries) => {
      for (const e of entries) {
        const panel = this.panels.find((p) => p.element === e.target);
        if (panel) panel.seen = e.isIntersecting;
      }
      this.schedule();
    }, { rootMargin: "100px" });
    this.sizing = new ResizeObserver((entries) => {
      for (const e of entries) {
        const panel = this.panels.find((p) => p.element === e.target);
        if (panel) panel.stale = true;
      }
      this.schedule();
    });
  }

  /**
   * addPanel puts a new panel into parent.
   * @param {HTMLElement} parent
   * @param {Pick<Panel, "margins" | "inner" | "paint">} of
   * @returns {Panel}
   */
  addPanel(parent, of) {
    const part = (/** @type {string} */ name) => {
      const e = document.createElement("div");
      e.className = name;
      e.hidden = true;
      return e;
    };
    const element = document.createElement("div");
    element.className = "plot";
    const canvas = document.createElement("canvas");
    canvas.setAttribute("aria-hidden", "true"); // the table says it
    const dpr = devicePixelRatio || 1;
    canvas.style.height = `${of.margins.top + of.inner(dpr) / dpr + of.margins.bottom}px`; // before it is drawn
    const panel = {
      ...of, element, canvas, cursor: part("cursor"), selection: part("selection"), segments: [], seen: false, stale: true,
    };
    element.append(canvas, panel.selection, panel.cursor);
    parent.append(element);
    this.panels.push(panel);
    this.seeing?.observe(element);
    this.sizing?.observe(element);
    return panel;
  }

  /** recolour reads the colours anew and draws. */
  recolour() {
    this.colours = readColours();
    this.redraw();
  }

  redraw() {
    for (const p of this.panels) p.stale = true;
    this.schedule();
  }

  schedule() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.drawSeen();
    });
  }

  /** drawSeen draws what is on screen and not as it should be. @param {boolean} [all] those off screen too */
  drawSeen(all = false) {
    // Sizes are read before anything is drawn, so that the page is laid out once.
    const due = this.panels.filter((p) => p.stale && (p.seen || all));
    const widths = due.map((p) => p.element.clientWidth);
    due.forEach((p, i) => {
      if (widths[i] > 0) this.draw(p, widths[i]);
    });
    this.moveCursors();
    for (const f of this.onDraw) f();
    clearTimeout(this.rest);
    if (!all) this.rest = setTimeout(() => this.drawRest(), 400);
  }

  /** drawRest draws what is off screen, one panel at a time, once nothing else is to do. */
  drawRest() {
    const panel = this.panels.find((p) => p.stale && !p.seen && p.element.clientWidth > 0);
    if (!panel) return;
    this.draw(panel, panel.element.clientWidth);
    this.rest = setTimeout(() => this.drawRest(), 10);
  }

  /** @param {Panel} panel @param {number} width in CSS pixels */
  draw(panel, width) {
    const dpr = devicePixelRatio || 1;
    const sheet = this.paintOn(panel, panel.canvas, width, dpr, this.colours);
    panel.stale = false;
    if (!sheet) return;
    panel.segments = sheet.segments.map((s) => ({ ...s, x0: s.x0 / dpr, x1: s.x1 / dpr }));
  }

  /**
   * paintOn draws a panel on any canvas.
   * @param {Panel} panel
   * @param {HTMLCanvasElement} canvas
   * @param {number} width in CSS pixels
   * @param {number} dpr
   * @param {import("./colour.js").Colours} colours
   */
  paintOn(panel, canvas, width, dpr, colours) {
    const sheet = prepare({
      canvas, width, dpr, colours, inner: panel.inner(dpr), margins: panel.margins,
      stretches: this.picture.stretches, range: this.zoom,
    });
    if (sheet) panel.paint(sheet);
    return sheet;
  }

  /** pieces divides what is seen into what is known finely and the rest. @param {import("./axis.js").Segment[]} segments */
  pieces(segments) {
    return cover(segments, this.detail?.stretches ?? []);
  }

  /** setting is what is known of setting i, finely or not. @param {number} i @param {boolean} fine */
  setting(i, fine) {
    return fine && this.detail ? this.detail.settings[i] : this.picture.settings[i];
  }

  moveCursors() {
    const time = this.zoom.cursor;
    for (const p of this.panels) {
      const x = time === null || !p.seen ? NaN : xAt(p.segments, time);
      p.cursor.hidden = Number.isNaN(x);
      if (Number.isNaN(x)) continue;
      p.cursor.style.left = `${p.margins.left + x}px`;
      p.cursor.style.top = `${p.margins.top}px`;
      p.cursor.style.height = `calc(100% - ${p.margins.top + p.margins.bottom}px)`;
    }
  }

  /**
   * moveBy moves the cursor by so many CSS pixels of a panel, and the range if
   * it would leave it.
   * @param {Panel} panel
   * @param {number} by
   */
  moveBy(panel, by) {
    const { zoom } = this, segments = panel.segments;
    if (!segments.length) return;
    const width = segments[segments.length - 1].x1;
    const at = zoom.cursor === null ? NaN : xAt(segments, zoom.cursor);
    const x = Number.isNaN(at) ? width / 2 : at + by;
    // A gap is stepped over.
    const next = segments.find((s) => s.x0 > x), last = segments.findLast((s) => s.x1 < x);
    const within = segments.some((s) => x >= s.x0 && x <= s.x1);
    const to = within ? x : by > 0 ? next?.x0 : last?.x1;
    if (to !== undefined) zoom.point(timeAt(segments, to));
    else if (!zoom.isWhole) {
      zoom.pan(by > 0 ? 0.2 : -0.2);
      const time = (zoom.cursor ?? zoom.from) + (zoom.to - zoom.from) * (by / width);
      zoom.point(Math.min(zoom.to, Math.max(zoom.from, time)));
    }
  }
}

/**
 * showSelection draws what is being selected; nothing if from and to are equal.
 * @param {Panel} p
 * @param {number} from
 * @param {number} to
 */
export function showSelection(p, from, to) {
  p.selection.hidden = from === to;
  p.selection.style.left = `${Math.min(from, to)}px`;
  p.selection.style.width = `${Math.abs(to - from)}px`;
  p.selection.style.top = `${p.margins.top}px`;
  p.selection.style.height = `calc(100% - ${p.margins.top + p.margins.bottom}px)`;
}
