// @ts-check
// The range of time that all charts show, the cursor that they share, and the
// hand that moves both: pointer, wheel and keys.

import { clampRange, formatHash, parseHash, scaleRange, timeAt } from "./axis.js";

/** The range and the cursor, in seconds of the axis. */
export class Zoom {
  /**
   * @param {number} seconds of the whole axis
   * @param {number} least seconds that may be shown
   */
  constructor(seconds, least) {
    this.seconds = seconds;
    this.least = least;
    this.from = 0;
    this.to = seconds;
    /** @type {number | null} */
    this.cursor = null;
    /** @type {Set<() => void>} */
    this.onRange = new Set();
    /** @type {Set<() => void>} */
    this.onCursor = new Set();
  }

  get isWhole() {
    return this.from <= 0 && this.to >= this.seconds;
  }

  /** @param {import("./axis.js").Range} range */
  set(range) {
    const { from, to } = clampRange(range, this.seconds, this.least);
    if (from === this.from && to === this.to) return;
    this.from = from;
    this.to = to;
    for (const f of this.onRange) f();
  }

  whole() {
    this.set({ from: 0, to: this.seconds });
  }

  /** @param {number} factor below 1 to come nearer @param {number} [around] */
  scale(factor, around = this.cursor ?? (this.from + this.to) / 2) {
    const inside = Math.min(this.to, Math.max(this.from, around));
    this.set(scaleRange(this, factor, inside));
  }

  /** @param {number} share of the range, below 0 to the left */
  pan(share) {
    const by = (this.to - this.from) * share;
    const from = Math.min(Math.max(0, this.from + by), this.seconds - (this.to - this.from));
    this.set({ from, to: from + this.to - this.from });
  }

  /** @param {number | null} time */
  point(time) {
    this.cursor = time === null ? null : Math.min(this.seconds, Math.max(0, time));
    for (const f of this.onCursor) f();
  }
}

/**
 * keepInHash keeps the range in the page's address, so that a link shows it.
 * @param {Zoom} zoom
 */
export function keepInHash(zoom) {
  const read = () => {
    const range = parseHash(location.hash);
    if (range) zoom.set(range);
  };
  read();
  addEventListener("hashchange", read);
  let timer = 0;
  zoom.onRange.add(() => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      try {
        // What is in the address for another reason stays there until something is zoomed.
        history.replaceState(null, "", zoom.isWhole ? location.pathname + location.search : formatHash(zoom));
      } catch {
        // A sandboxed page has no address of its own; nothing is lost but the link.
      }
    }, 150);
  });
}

/**
 * steerByPointer lets a pointer move the zoom and the cursor of a chart: drag to
 * select, double click for the whole, wheel with ctrl to come nearer.
 * @param {object} s
 * @param {HTMLElement} s.element that holds the plot
 * @param {HTMLElement} s.focus the element that has the focus if the pointer was used
 * @param {Zoom} s.zoom
 * @param {() => {segments: import("./axis.js").Segment[], left: number, width: number}} s.plot in CSS pixels of element, segments from left
 * @param {(y: number) => void} s.hover the cursor was moved; y in CSS pixels of element
 * @param {(from: number, to: number) => void} s.select shows what is being selected, in CSS pixels; nothing if they are equal
 */
export function steerByPointer({ element, focus, zoom, plot, hover, select }) {
  /** @type {{x: number, id: number} | null} */
  let drag = null;
  const xOf = (/** @type {MouseEvent} */ e) => {
    const { left, width } = plot(), x = e.clientX - element.getBoundingClientRect().left;
    return Math.min(left + width, Math.max(left, x));
  };
  const timeOf = (/** @type {number} */ x) => timeAt(plot().segments, x - plot().left);
  const pointTo = (/** @type {MouseEvent} */ e) => {
    zoom.point(timeOf(xOf(e)));
    hover(e.clientY - element.getBoundingClientRect().top);
  };
  const end = () => {
    drag = null;
    select(0, 0);
  };
  element.addEventListener("pointerdown", (e) => {
    if (e.button !== 0) return;
    drag = { x: xOf(e), id: e.pointerId };
    element.setPointerCapture(e.pointerId);
  });
  element.addEventListener("pointermove", (e) => {
    if (drag?.id === e.pointerId) select(drag.x, xOf(e));
    else pointTo(e);
  });
  element.addEventListener("pointerup", (e) => {
    if (drag?.id !== e.pointerId) return;
    const { x } = drag, to = xOf(e);
    end();
    if (Math.abs(to - x) < 5) pointTo(e);
    else zoom.set({ from: timeOf(x), to: timeOf(to) });
  });
  element.addEventListener("pointercancel", end);
  focus.addEventListener("keydown", (e) => {
    if (!drag || e.key !== "Escape") return;
    end();
    e.stopImmediatePropagation();
  });
  element.addEventListener("pointerleave", () => {
    if (!drag && document.activeElement !== focus) zoom.point(null);
  });
  element.addEventListener("dblclick", () => zoom.whole());
  element.addEventListener("wheel", (e) => {
    if (!e.ctrlKey) return; // the page scrolls
    e.preventDefault();
    zoom.scale(2 ** Math.min(1, Math.max(-1, e.deltaY / 100)), timeOf(xOf(e)));
  }, { passive: false });
}

/**
 * steerByKey lets keys move the zoom of the chart that has the focus. Those that
 * it does not know, and shifted arrows, it asks other for: true if taken.
 * @param {HTMLElement} element
 * @param {Zoom} zoom
 * @param {(key: string) => boolean} other
 */
export function steerByKey(element, zoom, other) {
  element.addEventListener("keydown", (e) => {
    if (e.target !== element || e.ctrlKey || e.metaKey || e.altKey) return;
    switch (e.shiftKey && e.key.startsWith("Arrow") ? "" : e.key) {
      case "ArrowLeft": zoom.pan(-0.2); break;
      case "ArrowRight": zoom.pan(0.2); break;
      case "Home": zoom.pan(-Infinity); break;
      case "End": zoom.pan(Infinity); break;
      case "+": case "=": zoom.scale(0.5); break;
      case "-": case "_": zoom.scale(2); break;
      case "Escape": case "0": zoom.whole(); break;
      default: if (!other(e.key)) return;
    }
    e.preventDefault();
  });
}
