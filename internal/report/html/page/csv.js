// @ts-check
// Tables as CSV (RFC 4180), safe to open in a spreadsheet.

/**
 * csvField writes one field. What a spreadsheet would take for a formula gets a
 * leading apostrophe; numbers do not.
 * @param {string} words
 * @returns {string}
 */
export function csvField(words) {
  const number = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?%?$/i.test(words);
  const safe = !number && /^[=+\-@\t\r]/.test(words) ? "'" + words : words;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * csv writes rows with CRLF behind each.
 * @param {string[][]} rows
 * @returns {string}
 */
export function csv(rows) {
  return rows.map((r) => r.map(csvField).join(",") + "\r\n").join("");
}

/**
 * tableRows are the texts of a table; a cell over several columns is followed by
 * empty ones, and one over several rows is empty below.
 * @param {HTMLTableElement} table
 * @returns {string[][]}
 */
export function tableRows(table) {
  /** @type {string[][]} */
  const rows = [...table.rows].map(() => []);
  [...table.rows].forEach((tr, y) => {
    let x = 0;
    for (const c of tr.cells) {
      while (rows[y][x] !== undefined) x++;
      for (let dy = 0; dy < c.rowSpan && y + dy < rows.length; dy++) {
        for (let dx = 0; dx < c.colSpan; dx++) rows[y + dy][x + dx] = "";
      }
      rows[y][x] = (c.textContent ?? "").replace(/\s+/g, " ").trim();
      x += c.colSpan;
    }
  });
  return rows;
}
