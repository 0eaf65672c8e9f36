// @ts-check
// A group: a heading, a line that tells what lies under the cursor, and one or
// more panels that take the keyboard together.

import { showSelection } from "./stage.js";
import { steerByKey, steerByPointer } from "./zoom.js";

/**
 * @typedef {object} Group
 * @property {HTMLElement} element that has the focus
 * @property {HTMLElement} head for more after the heading
 * @property {(words: string) => void} say shows what lies under the cursor; if it was moved by a key, it is spoken too
 */

/**
 * element makes an HTML element with text.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {string} [className]
 * @param {string} [words]
 * @returns {HTMLElementTagNameMap[T]}
 */
export function element(tag, className = "", words = "") {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (words) e.textContent = words;
  return e;
}

/**
 * button makes a button.
 * @param {string} words
 * @param {() => void} click
 * @param {string} [title]
 * @returns {HTMLButtonElement}
 */
export function button(words, click, title = "") {
  const b = element("button", "", words);
  b.type = "button";
  if (title) b.title = title;
  b.addEventListener("click", click);
  return b;
}

/**
 * addGroup puts an empty group into parent.
 * @param {HTMLElement} parent
 * @param {string} title
 * @param {string} note behind the title
 * @returns {Group & {panels: HTMLElement}}
 */
export function addGroup(parent, title, note) {
  const outer = element("section", "group");
  const head = element("div", "group-head");
  const heading = element("h4", "", title);
  if (note) heading.append(element("small", "", note));
  const readout = element("p", "readout");
  readout.setAttribute("aria-hidden", "true");
  const spoken = element("p", "spoken");
  spoken.setAttribute("aria-live", "polite");
  head.append(heading, readout);
  const panels = element("div", "panels");
  panels.tabIndex = 0;
  panels.setAttribute("role", "application"); // so that arrow keys come here
  panels.setAttribute("aria-roledescription", "chart");
  panels.setAttribute("aria-label", `${title}: chart. Plus and minus zoom, arrows move, shift and arrows move the cursor, 0 shows all.`);
  outer.append(head, panels, spoken);
  parent.append(outer);
  let timer = 0;
  const say = (/** @type {string} */ words) => {
    readout.textContent = words;
    clearTimeout(timer);
    // Not each step of a cursor on its way is spoken, and no pointer's.
    if (words && document.activeElement === panels && panels.matches(":focus-visible")) {
      timer = setTimeout(() => { spoken.textContent = words; }, 400);
    }
  };
  return { element: panels, panels, head, say };
}

/**
 * animate lets pointer and keys into a group.
 * @param {import("./stage.js").Stage} stage
 * @param {Group} group
 * @param {import("./stage.js").Panel[]} panels
 * @param {{hover: (panel: import("./stage.js").Panel, y: number) => void, row: (by: number) => void, tell: () => void}} on
 *   hover: the pointer is at y CSS pixels of a panel; row: up or down was asked for; tell: the cursor was moved here
 */
export function animate(stage, group, panels, on) {
  for (const panel of panels) {
    steerByPointer({
      element: panel.element, focus: group.element, zoom: stage.zoom,
      plot: () => ({
        segments: panel.segments, left: panel.margins.left,
        width: panel.element.clientWidth - panel.margins.left - panel.margins.right,
      }),
      hover: (y) => {
        on.hover(panel, y);
        on.tell();
      },
      select: (from, to) => showSelection(panel, from, to),
    });
  }
  const steps = /** @type {Record<string, number>} */ ({ ArrowLeft: -1, ArrowRight: 1, PageUp: 10, PageDown: -10, ArrowUp: 1, ArrowDown: -1 });
  steerByKey(group.element, stage.zoom, (key) => {
    if (!(key in steps)) return false;
    if (key === "ArrowLeft" || key === "ArrowRight") stage.moveBy(panels[0], steps[key] * 4);
    else on.row(steps[key]);
    on.tell();
    return true;
  });
  stage.zoom.onCursor.add(() => {
    if (stage.zoom.cursor === null) group.say("");
  });
  group.element.addEventListener("blur", () => {
    if (!group.element.matches(":hover")) stage.zoom.point(null);
  });
}
