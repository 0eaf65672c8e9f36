import assert from "node:assert/strict";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { readPicture, unpack } from "../data.js";

/** pack is the other side, as report/html/pack.go has it. */
function pack(values) {
  const bytes = new Uint8Array(values.buffer), n = values.length, shuffled = new Uint8Array(4 * n);
  for (let i = 0; i < n; i++) for (let k = 0; k < 4; k++) shuffled[k * n + i] = bytes[4 * i + k];
  return gzipSync(shuffled).toString("base64");
}

test("unpack reads what Go wrote", async () => {
  // 0, 1, 258, the greatest, and 1.5 and NaN as float32
  const values = await unpack("H4sIAAAAAAAE/wTAAQEAIAjAsGExo1mNZnfmBBNoF933AwAA//+sX7orGAAAAA==");
  assert.deepEqual([...values.subarray(0, 4)], [0, 1, 258, 4294967295]);
  const floats = new Float32Array(values.buffer);
  assert.equal(floats[4], 1.5);
  assert(Number.isNaN(floats[5]));
});

test("unpack refuses half a value", async () => {
  await assert.rejects(unpack(gzipSync(new Uint8Array(7)).toString("base64")), /not a whole number of values/);
});

const axis = [{ block: 1, from: 0, to: 2, columns: 2 }, { block: 2, from: 0, to: 1, columns: 1 }];
const json = (more) => ({
  axis, rows: 2, low: 0.001, high: 0.1,
  settings: [{
    name: "a", trials: [1, 2], whole: false, seconds: true, heat: pack(Uint32Array.of(1, 2, 3, 4, 5, 6)), collecting: pack(Float32Array.of(0, 0.5, NaN)),
    stops: null, slowest: [], tracks: [{ metric: "rss-B", label: "rss", unit: "B", min: pack(Float32Array.of(1, NaN, 3)), max: null, last: null }],
  }], ...more,
});

test("readPicture opens all columns and keeps what is not known", async () => {
  const p = await readPicture(json());
  assert.deepEqual(p.stretches.map((s) => [s.start, s.end, s.first]), [[0, 2, 0], [2, 3, 2]]);
  const [s] = p.settings;
  assert.deepEqual([...s.heat], [1, 2, 3, 4, 5, 6]);
  assert.deepEqual([...s.collecting], [0, 0.5, NaN]);
  assert.equal(s.stops, null);
  assert.equal(s.whole, false);
  assert.deepEqual([...s.tracks[0].min], [1, NaN, 3]);
  assert.deepEqual([...s.tracks[0].last], [NaN, NaN, NaN]);
});

test("readPicture without a latency has tracks and no heat", async () => {
  const p = await readPicture(json({ low: 0, high: 0 }));
  assert.equal(p.settings[0].heat, null);
  assert.equal(p.rows, 0);
  assert.equal(p.settings[0].tracks.length, 1);
});

test("readPicture refuses columns that do not fit the axis", async () => {
  await assert.rejects(readPicture(json({ rows: 3 })), /6 values where 9 belong/);
  await assert.rejects(readPicture({ axis: [] }), /no column/);
});

test("a part lies where its block lies in the whole", async () => {
  const whole = await readPicture(json());
  const part = await readPicture({ axis: [{ block: 2, from: 0.25, to: 0.75, columns: 7 }], rows: 2, low: 0.001, high: 0.1, settings: [] }, whole);
  assert.deepEqual([part.stretches[0].start, part.stretches[0].end], [2.25, 2.75]);
});
