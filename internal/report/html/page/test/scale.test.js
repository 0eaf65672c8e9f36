import assert from "node:assert/strict";
import test from "node:test";
import { format, logTicks, moment, tickLabels, ticks, timeStep } from "../scale.js";

test("numbers have three digits and a unit", () => {
  for (const [x, unit, want] of [
    [0.41, "sec", "410 ms"], [0.0123456, "s", "12.3 ms"], [0.00001, "s", "10 µs"], [0.0000312, "s", "31.2 µs"], [0.9996, "s", "1.00 s"], [0.09996, "s", "100 ms"], [2.5e-9, "s", "2.50 ns"],
    [9.999, "s", "10.0 s"], [1234, "s", "1234 s"], [0, "s", "0"], [64 * 2 ** 20, "B", "64 MiB"], [1.5 * 2 ** 30, "B", "1.50 GiB"], [1023.9 * 2 ** 20, "B", "1.00 GiB"],
    [512, "B", "512 B"], [0.127, "frac", "12.7%"], [0.00012, "frac", "0.0120%"], [17, "", "17"], [1234567, "", "1234567"], [12.345, "", "12.3"],
    [0.002, "sec/req", "2 ms/req"], [3, "/s", "3/s"], [-0.0123456, "s", "-12.3 ms"], [NaN, "s", "?"], [Infinity, "B", "?"],
  ]) assert.equal(format(x, unit), want);
});

test("ticks are round and reach the greatest value", () => {
  assert.deepEqual(ticks(17, 3, ""), [0, 10, 20]);
  assert.deepEqual(ticks(1, 4, "frac"), [0, 0.5, 1]);
  assert.deepEqual(ticks(90 * 2 ** 20, 3, "B").map((x) => x / 2 ** 20), [0, 32, 64, 96]);
  assert.deepEqual(ticks(0, 3, "B"), [0]);
  assert.deepEqual(ticks(NaN, 3, ""), [0]);
  assert.deepEqual(tickLabels([0, 0.05, 0.1], "frac"), ["0", "5%", "10%"]);
  assert.deepEqual(tickLabels([0, 2 ** 29, 2 ** 30], "B"), ["0", "0.5 GiB", "1 GiB"]);
});

test("latency has a tick each power of ten, more where these are few", () => {
  assert.deepEqual(logTicks(3.1e-5, 0.52), [1e-4, 1e-3, 1e-2, 1e-1]);
  assert.deepEqual(logTicks(0.001, 0.02), [0.001, 0.003, 0.01]);
  assert.deepEqual(logTicks(0.001, 0.009), [0.001, 0.002, 0.005]);
});

test("moments are as precise as asked", () => {
  for (const [t, step, want] of [
    [0, 0.1, "0 s"], [0.81, 0.01, "0.81 s"], [0.8, 0.05, "0.80 s"], [12, 1, "12 s"], [59.9996, 0.001, "1m00.000s"], [59.9, 1, "1m"], [300, 60, "5m"], [312, 1, "5m12s"],
    [5400, 1800, "1h30m"], [3600, 1800, "1h"], [3612.25, 0.01, "1h00m12.25s"], [18000, 3600, "5h"],
  ]) assert.equal(moment(t, step), want);
  assert.equal(timeStep(0.3), 0.5);
  assert.equal(timeStep(13), 20);
  assert.equal(timeStep(1500), 1800);
  assert.equal(timeStep(100000), 172800);
});
