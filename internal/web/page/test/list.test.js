import assert from "node:assert/strict";
import test from "node:test";
import { fits, narrow } from "../list.js";

test("all words have to be there, in any order and case", () => {
  assert.ok(fits("sessions-1 GOGC=100 done", "done gogc"));
  assert.ok(fits("anything", "  "));
  assert.ok(!fits("sessions-1 GOGC=100", "gogc=50"));
});

test("rows that do not fit are hidden and counted", () => {
  const rows = ["a done", "b broken", "c done"].map((textContent) => ({ textContent, hidden: false }));
  const count = { textContent: "" };
  const parts = { find: { value: "DONE" }, rows: { rows }, count };
  narrow(/** @type {any} */ ({ getElementById: (/** @type {"find" | "rows" | "count"} */ id) => parts[id] }));
  assert.deepEqual(rows.map((r) => r.hidden), [false, true, false]);
  assert.equal(count.textContent, "2 shown");
});
