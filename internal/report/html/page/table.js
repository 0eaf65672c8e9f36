// @ts-check
// Tables: made from texts, sorted by their headings.

/**
 * What a cell says, and the number behind it.
 * @typedef {{words: string, value: number | undefined} | HTMLElement} Cell
 */

/**
 * cell makes a cell of text, with the number to sort by.
 * @param {string} words
 * @param {number} [value]
 * @returns {Cell}
 */
export function cell(words, value) {
  return { words, value };
}

/**
 * fillTable puts a head and rows into a table, in place of what it had.
 * @param {HTMLTableElement} table
 * @param {{head: string[], rows: Cell[][]}} of
 */
export function fillTable(table, { head, rows }) {
  const caption = table.caption;
  table.replaceChildren();
  if (caption) table.append(caption);
  const line = table.createTHead().insertRow();
  for (const words of head) {
    const th = document.createElement("th");
    th.scope = "col";
    th.textContent = words;
    const first = rows[0]?.[line.cells.length];
    if (first && !(first instanceof HTMLElement) && first.value !== undefined) th.className = "n";
    line.append(th);
  }
  const body = table.createTBody();
  for (const row of rows) {
    const tr = body.insertRow();
    for (const c of row) {
      const td = tr.insertCell();
      if (c instanceof HTMLElement) td.append(c);
      else {
        td.textContent = c.words;
        if (c.value !== undefined) {
          td.className = "n";
          if (!Number.isNaN(c.value)) td.dataset.value = String(c.value);
        }
      }
    }
  }
}

/**
 * makeTable makes a new table.
 * @param {string[]} head
 * @param {Cell[][]} rows
 * @returns {HTMLTableElement}
 */
export function makeTable(head, rows) {
  const table = document.createElement("table");
  fillTable(table, { head, rows });
  return table;
}

/**
 * giveTable gives a figure its table, if the page did not bring one.
 * @param {HTMLElement} figure
 * @param {{head: string[], rows: Cell[][]}} of
 */
export function giveTable(figure, of) {
  const tables = [...figure.querySelectorAll("details.table table")];
  if (tables.some((t) => t instanceof HTMLTableElement && t.rows.length)) return;
  if (tables[0] instanceof HTMLTableElement) {
    fillTable(tables[0], of);
    return;
  }
  const details = document.createElement("details"), summary = document.createElement("summary"), scroll = document.createElement("div");
  details.className = "table";
  summary.textContent = "Table";
  scroll.className = "scroll";
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", `Table: ${figure.querySelector("h3")?.textContent ?? ""}`);
  scroll.append(makeTable(of.head, of.rows));
  details.append(summary, scroll);
  figure.append(details);
}

/**
 * compareCells orders two cells: numbers by value and before texts, texts as
 * people do, empty ones last in either direction.
 * @param {{value: string | undefined, words: string}} a
 * @param {{value: string | undefined, words: string}} b
 * @param {number} sign 1 or -1
 * @returns {number}
 */
export function compareCells(a, b, sign) {
  const x = rank(a), y = rank(b);
  if (x.rank !== y.rank) return x.rank - y.rank;
  if (x.rank === 0) return sign * (x.number - y.number);
  return sign * a.words.localeCompare(b.words, "en", { numeric: true });
}

/** @param {{value: string | undefined, words: string}} c */
function rank(c) {
  // Of a table that the page brought, the texts are all there is; a column has one unit.
  const plain = /^[+-]?\d+(\.\d+)?%?$/.test(c.words) ? parseFloat(c.words) : NaN;
  const number = c.value === undefined || c.value === "" ? plain : Number(c.value);
  return { number, rank: !Number.isNaN(number) ? 0 : c.words === "" ? 2 : 1 };
}

/**
 * makeSortable gives a table buttons in its last line of headings. Lines stay
 * within their tbody.
 * @param {HTMLTableElement} table
 */
export function makeSortable(table) {
  table.classList.add("sortable");
  const heads = [...(table.tHead?.rows[table.tHead.rows.length - 1]?.cells ?? [])];
  heads.forEach((th, column) => {
    if (th.querySelector("button") || th.colSpan > 1 || !th.textContent?.trim()) return;
    const b = document.createElement("button");
    b.type = "button";
    b.append(...th.childNodes);
    th.append(b);
    b.addEventListener("click", () => {
      const up = th.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", up ? "ascending" : "descending");
      for (const body of table.tBodies) sortBody(body, column, up ? 1 : -1);
    });
  });
}

/** @param {HTMLTableSectionElement} body @param {number} column @param {number} sign */
function sortBody(body, column, sign) {
  const keyed = [...body.rows].map((row) => {
    const c = row.cells[column];
    return { row, key: { value: c?.dataset.value, words: c?.textContent?.trim() ?? "" } };
  });
  keyed.sort((a, b) => compareCells(a.key, b.key, sign));
  body.append(...keyed.map((k) => k.row));
}
