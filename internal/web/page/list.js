// @ts-check
// Narrows the list of runs while one types. Without it the same field narrows it
// when the form is sent.

/**
 * fits tells whether a text has all words of a query, in any order and case.
 * @param {string} text
 * @param {string} query
 */
export function fits(text, query) {
  const low = text.toLowerCase();
  return query.toLowerCase().split(/\s+/).every((word) => low.includes(word));
}

/**
 * narrow hides the rows that do not fit and says how many are left.
 * @param {Document} doc
 */
export function narrow(doc) {
  const find = /** @type {HTMLInputElement | null} */ (doc.getElementById("find"));
  const body = /** @type {HTMLTableSectionElement | null} */ (doc.getElementById("rows"));
  const count = doc.getElementById("count");
  if (!find || !body || !count) return;
  let shown = 0;
  for (const row of body.rows) {
    row.hidden = !fits(row.textContent ?? "", find.value);
    if (!row.hidden) shown++;
  }
  count.textContent = `${shown} shown`;
}

if (typeof document !== "undefined") {
  document.getElementById("find")?.addEventListener("input", () => narrow(document));
}
