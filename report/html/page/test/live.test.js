// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { add, bytes, count, duration, progressText, ticks, time } from "../live.js";

test("numbers carry units", () => {
  assert.equal(duration(0.00123456), "1.23 ms");
  assert.equal(duration(0.0000071), "7.10 µs");
  assert.equal(duration(12.34), "12.3 s");
  assert.equal(bytes(0), "0 B");
  assert.equal(bytes(1536 * 1024), "1.50 MiB");
  assert.equal(bytes(5000 * 2 ** 40), "5,000 TiB");
  assert.equal(count(1234567.4), "1,234,567");
  assert.equal(time(59), "59 s");
  assert.equal(time(600), "10 min");
  assert.equal(time(7260), "2 h 1 min");
});

test("progress is told in words", () => {
  const p = { done: 3, failed: 1, planned: 15, trial: 4, setting: "GOGC=50", for: "profile", phase: "measuring", "elapsed-sec": 3, "left-sec": 120 };
  assert.equal(progressText(p), "3 of 15 trials are done, 1 of them failed. Trial 4, GOGC=50, for profile: measuring for 3 s. About 2 min left.");
  assert.equal(progressText({ done: 1, failed: 0, planned: 1, phase: "preparing", "elapsed-sec": 0, "left-sec": -1 }), "1 of 1 trial is done. Writing the report.");
});

test("points come once, in order, and leave when they are old", () => {
  /** @type {[number, number][]} */
  const to = [];
  add(to, [[1, 10], [2, 20]]);
  add(to, [[1, 10], [2, 20], [3, 30]]); // after a lost connection
  assert.deepEqual(to, [[1, 10], [2, 20], [3, 30]]);
  add(to, [[302, 1]]);
  assert.deepEqual(to, [[2, 20], [3, 30], [302, 1]]);
});

test("ticks are round and few", () => {
  assert.deepEqual(ticks(0.0005, 0.2, true), [0.001, 0.01, 0.1]);
  const t = ticks(0, 100 * 2 ** 20, false);
  assert.ok(t.length >= 3 && t.length <= 7, String(t));
  assert.ok(t.every((v) => v % 2 ** 20 === 0));
});
