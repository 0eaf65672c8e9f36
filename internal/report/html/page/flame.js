// @ts-check
// Flame graphs: whole pages of pprof's own, opened on demand in a sandboxed frame.

import { gunzip } from "./data.js";
import { button } from "./group.js";

/**
 * openFlame shows the page that a button names, in its figure's .flame (or
 * behind the button): the one packed in the script element data-source, or the
 * one at data-url. Pressed again, it closes it.
 * @param {HTMLButtonElement} opener
 * @returns {Promise<void>}
 */
export async function openFlame(opener) {
  const place = opener.closest(".flame") ?? opener.parentElement;
  if (!(place instanceof HTMLElement)) return;
  const open = opener.getAttribute("aria-expanded") === "true";
  closeFlame(place);
  if (open) return;
  opener.setAttribute("aria-expanded", "true");
  const box = document.createElement("div");
  box.className = "flame-box";
  const close = button("Close", () => {
    closeFlame(place);
    opener.focus();
  });
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.title = opener.dataset.title || `Flame graph: ${opener.textContent?.trim() ?? ""}`;
  close.setAttribute("aria-label", `Close: ${frame.title}`);
  box.append(close);
  if (opener.dataset.url) box.append(ownPage(opener.dataset.url, frame.title));
  box.addEventListener("keydown", (e) => {
    if (e.key === "Escape") close.click();
  });
  place.append(box);
  try {
    if (opener.dataset.url) frame.src = `${opener.dataset.url}?frame`; // a page in a frame has no way back to this one
    else frame.srcdoc = new TextDecoder().decode(await gunzip(sourceOf(opener)));
    box.append(frame);
    close.focus();
  } catch (e) {
    const p = document.createElement("p");
    p.setAttribute("role", "alert");
    p.textContent = `open flame graph: ${e instanceof Error ? e.message : e}`;
    box.append(p);
  }
}

/**
 * ownPage is a link to what a frame shows: in a window of its own there is room
 * for it, and it can be saved and passed on.
 * @param {string} url
 * @param {string} title
 * @returns {HTMLAnchorElement}
 */
function ownPage(url, title) {
  const a = document.createElement("a");
  a.href = url;
  a.target = "_blank";
  a.rel = "noopener";
  a.textContent = "Open as a separate page";
  a.setAttribute("aria-label", `${title}: open as a separate page`);
  return a;
}

/** @param {HTMLButtonElement} opener */
function sourceOf(opener) {
  const text = document.getElementById(opener.dataset.source ?? "")?.textContent;
  if (!text) throw new Error("this page does not contain it");
  return text;
}

/** @param {HTMLElement} place */
function closeFlame(place) {
  for (const box of place.querySelectorAll(".flame-box")) box.remove();
  for (const b of place.querySelectorAll("[aria-expanded=true]")) b.setAttribute("aria-expanded", "false");
}

/**
 * startFlames makes the buttons with data-source or data-url below root open
 * their flame graphs.
 * @param {ParentNode} root
 */
export function startFlames(root) {
  for (const b of root.querySelectorAll(".flame button[data-source], .flame button[data-url]")) {
    if (!(b instanceof HTMLButtonElement)) continue;
    b.setAttribute("aria-expanded", "false");
    b.addEventListener("click", () => void openFlame(b));
  }
}
