import assert from "node:assert/strict";
import test from "node:test";
import { place } from "../axis.js";
import { mean, parts, percentile, reading, sumColumns, total } from "../count.js";
import { csv, csvField } from "../csv.js";
import { beside, pointsOf, topOf, withBreaks } from "../course.js";
import { heatColumns, heatTable } from "../heat.js";
import { compareCells } from "../table.js";
import { rowsOf, tracksColumns, tracksTable } from "../tracks.js";

const stretches = place([{ block: 1, from: 0, to: 4, columns: 4 }, { block: 2, from: 0, to: 4, columns: 4 }]);
const N = NaN;
const picture = {
  stretches, rows: 3, low: 0.001, high: 1, // 1 to 10 ms, to 100 ms, to 1 s
  settings: [
    {
      name: "a", trials: [1, 0], whole: true, seconds: false, heat: Uint32Array.from([...[98, 0, 2], ...[10, 0, 0], ...Array(18).fill(0)]),
      collecting: Float32Array.of(0.5, 0.1, N, N, N, N, N, N), stops: null, slowest: [],
      tracks: [{ metric: "rss-B", label: "rss", unit: "B", min: Float32Array.of(1, N, 3, 4, N, N, N, N), max: Float32Array.of(2, N, 9, 5, N, N, N, N), last: Float32Array.of(2, N, 5, 4, N, N, N, N) },
        { metric: "heap-live-B", label: "heap-live", unit: "B", min: new Float32Array(8), max: new Float32Array(8), last: new Float32Array(8) },
        { metric: "heap-B", label: "heap", unit: "B", min: new Float32Array(8), max: new Float32Array(8), last: new Float32Array(8) }],
    },
    { name: "b", trials: [0, 2], whole: true, seconds: false, heat: null, collecting: null, stops: null, slowest: [], tracks: [] },
  ],
};

test("percentiles from counts are right to a row", () => {
  const sum = sumColumns(picture.settings[0].heat, 3, 0, 1);
  assert.equal(total(sum), 100);
  const p50 = percentile(picture, sum, 0.5);
  assert(p50 > 0.003 && p50 < 0.0035, `${p50}`); // half of the row from 1 to 10 ms, by ratio
  assert(percentile(picture, sum, 0.98) <= 0.0100001);
  assert(percentile(picture, sum, 0.99) > 0.1);
  assert(Math.abs(percentile(picture, sum, 1) - 1) < 1e-9);
  assert(Number.isNaN(percentile(picture, new Float64Array(3), 0.5)));
});

test("a table has up to twelve parts, each of one block or of several", () => {
  assert.deepEqual(parts(stretches, 12).map((p) => [p.label, p.from, p.to, p.a, p.b])[5], ["block 2", 1, 2, 5, 6]);
  assert.equal(parts(stretches, 12).length, 8); // no more than columns
  const many = place(Array.from({ length: 30 }, (_, i) => ({ block: i + 1, from: 0, to: 1, columns: 10 })));
  const twelve = parts(many, 12);
  assert.equal(twelve.length, 12);
  assert.equal(twelve[0].label, "blocks 1–2");
  assert.deepEqual([twelve[0].a, twelve[11].b], [0, 300]);
  for (let i = 1; i < 12; i++) assert.equal(twelve[i].a, twelve[i - 1].b);
});

test("the table of heat maps says what is not known by saying nothing", () => {
  const { head, rows } = heatTable(picture);
  assert.equal(rows.length, 16);
  assert.deepEqual(rows[0].map((c) => c.words), ["block 1, 0 s to 1.00 s", "a", "1", "100", "3.24 ms", "316 ms", "1 s", "50%"]);
  assert.deepEqual(rows[1].map((c) => c.words).slice(1), ["b", "", "", "", "", "", ""]);
  assert.equal(head.length, rows[0].length);
});

test("columns as CSV have base units and as many fields as the head", () => {
  const lines = heatColumns(picture);
  assert.equal(lines.length, 1 + 16);
  assert.deepEqual(lines[1].slice(0, 6), ["a", "1", "1", "0", "1", "100"]);
  assert.deepEqual(lines[1].slice(-3), ["98", "0", "2"]);
  assert.equal(lines[0].length, lines[1].length);
  const tracks = tracksColumns(picture).filter((l) => l[0] === "rss-B");
  assert.deepEqual(tracks[1], ["rss-B", "a", "1", "1", "2", "3", "3", "9", "5"]);
  assert.equal(tracks.length, 3);
});

test("tracks: the heap's share their panels, and the table has ends and extremes", () => {
  assert.deepEqual(rowsOf(picture).map((r) => [r.title, r.metrics]), [["rss", ["rss-B"]], ["heap", ["heap-B", "heap-live-B"]]]);
  assert.deepEqual(tracksTable(picture).rows[0].map((c) => c.words), ["rss", "a", "2 B", "1 B", "9 B", "4 B"]);
  assert.equal(topOf(picture.settings[0].tracks).top, 12);
});

test("a course leaves out columns without a reading", () => {
  const piece = { stretch: stretches[0], fine: false, index: 0, from: 0, to: 4, x0: 0, x1: 400 };
  const [rss] = picture.settings[0].tracks;
  assert.deepEqual(pointsOf(rss, piece).map((p) => [p.x, p.min, p.max, p.last]), [[50, 1, 2, 2], [250, 3, 9, 5], [350, 4, 5, 4]]);
  // Two pixels for four columns: the extremes stay.
  assert.deepEqual(pointsOf(rss, { ...piece, x1: 2 }).map((p) => [p.min, p.max, p.last]), [[1, 2, 2], [3, 9, 4]]);
});

test("a course breaks where much is missing", () => {
  const last = new Float32Array(100).fill(N);
  for (let i = 0; i < 100; i += 2) if (i < 30 || i > 60) last[i] = i;
  const [s] = place([{ block: 1, from: 0, to: 100, columns: 100 }]);
  const points = withBreaks(pointsOf({ metric: "x", label: "x", unit: "", min: last, max: last, last }, { stretch: s, fine: false, index: 0, from: 0, to: 100, x0: 0, x1: 1000 }));
  assert.equal(points.filter((p) => Number.isNaN(p.last)).length, 1);
});

test("a course goes on to the edge, if there is a reading beyond", () => {
  const segment = { stretch: stretches[0], index: 0, from: 0.5, to: 1.8, x0: 0, x1: 130 };
  const [rss] = picture.settings[0].tracks;
  assert.deepEqual(beside(rss, segment, 1).map((p) => [Math.round(p.x), p.last]), [[200, 5]]);
  assert.deepEqual(beside(rss, segment, -1), []);
  assert.deepEqual(beside(rss, { ...segment, stretch: stretches[1], from: 5, to: 6 }, 1), []);
});

test("readings and means know what is missing", () => {
  const [rss] = picture.settings[0].tracks;
  assert.equal(reading(rss.last, stretches[0], 1.5), 2);
  assert(Number.isNaN(reading(rss.last, stretches[1], 5)));
  assert(Math.abs(mean(picture.settings[0].collecting, 0, 4) - 0.3) < 1e-6);
  assert(Number.isNaN(mean(null, 0, 4)));
});

test("CSV is quoted, and no formula", () => {
  for (const [words, want] of [
    ["a,b", '"a,b"'], ['say "x"', '"say ""x"""'], ["two\nlines", '"two\nlines"'], ["=1+1", "'=1+1"], ["@SUM(A1)", "'@SUM(A1)"], ["-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"],
    ["+x,y", `"'+x,y"`], ["\tx", "'\tx"], ["-12.5", "-12.5"], ["+4.6%", "+4.6%"], ["-1e-9", "-1e-9"], ["-", "'-"], ["-21.4% [-26.0, -15.9]", `"'-21.4% [-26.0, -15.9]"`], ["", ""], ["p99", "p99"],
  ]) assert.equal(csvField(words), want);
  assert.equal(csv([["a", "b"], ["1", "2"]]), "a,b\r\n1,2\r\n");
});

test("sorting: numbers by value, then words, then nothing, either way", () => {
  const cells = [{ value: undefined, words: "" }, { value: "10", words: "10 ms" }, { value: undefined, words: "b" }, { value: "9", words: "9 s" }, { value: undefined, words: "a" }];
  const sorted = (sign) => cells.toSorted((a, b) => compareCells(a, b, sign)).map((c) => c.words);
  assert.deepEqual(sorted(1), ["9 s", "10 ms", "a", "b", ""]);
  assert.deepEqual(sorted(-1), ["10 ms", "9 s", "b", "a", ""]);
});

test("a table that the page brought is sorted by the numbers that its cells show", () => {
  const cells = ["5.648", "42.08", "5.65", "-", "+3.1%", ""].map((words) => ({ value: undefined, words }));
  const sorted = (sign) => cells.toSorted((a, b) => compareCells(a, b, sign)).map((c) => c.words);
  assert.deepEqual(sorted(1), ["+3.1%", "5.648", "5.65", "42.08", "-", ""]);
  assert.deepEqual(sorted(-1), ["42.08", "5.65", "5.648", "+3.1%", "-", ""]);
});
