// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { add, bytes, count, doneText, duration, lines, progressText, ticks, time } from "../live.js";

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

test("settings side by side are told as a block", () => {
  const p = { done: 6, failed: 0, planned: 20, block: 4, setting: "GOGC=100, GOGC=200", beside: true, phase: "measuring", "elapsed-sec": 3, "left-sec": 120 };
  assert.equal(progressText(p), "6 of 20 trials are done. Block 4, GOGC=100, GOGC=200 side by side: measuring for 3 s. About 2 min left.");
  const open = { ...p, failed: 1, planned: 0, "within-sec": 120, "left-sec": -1 };
  const ends = "It ends when its verdicts are decided, or its time (2 min) is up.";
  assert.equal(progressText(open), `6 trials are done, 1 of them failed. Block 4, GOGC=100, GOGC=200 side by side: measuring for 3 s. ${ends}`);
  assert.equal(progressText({ ...open, block: undefined, phase: "preparing" }), `6 trials are done, 1 of them failed. Preparing the next. ${ends}`);
  assert.equal(doneText({ ...open, failed: 0, done: 1 }), "1 trial is done");
});

test("settings side by side have lines of a colour each", () => {
  /** @type {[key: "p50" | "p99" | "max", name: string, colour: string, dash: number[]][]} */
  const all = [["p50", "p50", "--c0", []], ["p99", "p99", "--c1", [5, 2]], ["max", "max", "--faint", [1, 3]]];
  assert.deepEqual(lines({ trial: 3 }, all), all);
  assert.deepEqual(lines({ trial: 4, beside: [3, 4], setting: "GOGC=50" }, all), [["p50", "GOGC=50 p50", "--c1", []], ["p99", "GOGC=50 p99", "--c1", [5, 2]]]);
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
