import assert from "node:assert/strict";
import test from "node:test";
import * as axis from "../axis.js";

const near = (a, b) => assert(Math.abs(a - b) < 1e-9, `${a}, want ${b}`);
// Two blocks: 10 s in 10 columns, then 20 s in 5.
const stretches = axis.place([{ block: 1, from: 0, to: 10, columns: 10 }, { block: 2, from: 0, to: 20, columns: 5 }]);

test("stretches share the width by their seconds, with a gap between", () => {
  const segments = axis.lay(stretches, { from: 0, to: 30 }, 310, 10);
  assert.deepEqual(segments.map((s) => [s.x0, s.x1]), [[0, 100], [110, 310]]);
  assert.deepEqual(axis.lay(stretches, { from: 5, to: 10 }, 310, 10).map((s) => [s.x0, s.x1, s.from, s.to]), [[0, 310, 5, 10]]);
});

test("time and place are each other's inverse, and a gap is the nearer edge", () => {
  const segments = axis.lay(stretches, { from: 4, to: 30 }, 270, 10);
  for (const t of [4, 5.5, 9.99, 10.01, 17, 30]) near(axis.timeAt(segments, axis.xAt(segments, t)), t);
  const gap = segments[0].x1;
  near(axis.timeAt(segments, gap + 3), 10);
  near(axis.timeAt(segments, gap + 8), 10);
  near(axis.timeAt(segments, -5), 4);
  near(axis.timeAt(segments, 999), 30);
  assert(Number.isNaN(axis.xAt(segments, 3.9)));
});

test("many narrow stretches leave room for themselves", () => {
  const many = axis.place(Array.from({ length: 100 }, (_, i) => ({ block: i + 1, from: 0, to: 1, columns: 4 })));
  const segments = axis.lay(many, { from: 0, to: 100 }, 300, 10);
  near(segments[99].x1, 300);
  assert(segments.every((s) => s.x1 > s.x0));
});

test("each column is shown once where pixels are longer than columns", () => {
  const [s] = stretches, seen = [];
  for (let i = 0; i < 3; i++) {
    const [a, b] = axis.columnsOf(s, (i * 10) / 3, ((i + 1) * 10) / 3);
    for (let c = a; c < b; c++) seen.push(c);
  }
  assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test("columns are found, also in a later stretch and at its ends", () => {
  assert.equal(axis.columnAt(stretches[0], 3.2), 3);
  assert.equal(axis.columnAt(stretches[1], 10), 10);
  assert.equal(axis.columnAt(stretches[1], 30), 14);
  assert.deepEqual(axis.columnsOf(stretches[1], 14.5, 14.6), [11, 12]);
  assert.equal(axis.stretchAt(stretches, 10), 1);
  assert.equal(axis.stretchAt(stretches, 31), -1);
});

test("a trial's moment is in its own block", () => {
  near(axis.momentOf(stretches, [7, 3], 3, 4), 14);
  assert(Number.isNaN(axis.momentOf(stretches, [7, 3], 7, 15)));
  assert(Number.isNaN(axis.momentOf(stretches, [0, 3], 7, 1)));
});

test("what a detail holds is drawn from it and the rest coarsely", () => {
  const finer = axis.place([{ block: 1, from: 8, to: 10, columns: 100 }, { block: 2, from: 0, to: 1, columns: 50 }], stretches);
  const pieces = axis.cover(axis.lay(stretches, { from: 6, to: 12 }, 70, 10), finer);
  assert.deepEqual(pieces.map((p) => [p.fine, p.from, p.to, Math.round(p.x0), Math.round(p.x1)]), [
    [false, 6, 8, 0, 20], [true, 8, 10, 20, 40], [true, 10, 11, 50, 60], [false, 11, 12, 60, 70]]);
  assert.deepEqual(axis.cover(axis.lay(stretches, { from: 0, to: 5 }, 70, 10), finer).map((p) => p.fine), [false]);
});

test("a zoom stays within the axis", () => {
  assert.deepEqual(axis.clampRange({ from: -5, to: 5 }, 30, 1), { from: 0, to: 10 });
  assert.deepEqual(axis.clampRange({ from: 25, to: 35 }, 30, 1), { from: 20, to: 30 });
  assert.deepEqual(axis.clampRange({ from: 9, to: 3 }, 30, 1), { from: 3, to: 9 });
  assert.deepEqual(axis.clampRange({ from: 5, to: 5 }, 30, 1), { from: 4.5, to: 5.5 });
  assert.deepEqual(axis.clampRange({ from: NaN, to: 5 }, 30, 1), { from: 0, to: 30 });
  assert.deepEqual(axis.clampRange({ from: -100, to: 100 }, 30, 1), { from: 0, to: 30 });
});

test("coming nearer keeps the time under the pointer in its place", () => {
  assert.deepEqual(axis.scaleRange({ from: 10, to: 20 }, 0.5, 12), { from: 11, to: 16 });
});

test("a link holds the range", () => {
  for (const r of [{ from: 0, to: 0.5 }, { from: 1.25, to: 2.5 }, { from: 100, to: 18000 }, { from: 0.000125, to: 0.0002 }]) {
    assert.deepEqual(axis.parseHash(axis.formatHash(r)), r);
  }
  assert.equal(axis.formatHash({ from: 2188.557123, to: 3751.0574 }), "#t=2188.6-3751.1");
  for (const h of ["", "#t=", "#t=2-1", "#t=1-1", "#t=a-b", "#t=-1-2", "#fig-heat", "#t=1e9-2e9"]) assert.equal(axis.parseHash(h), null);
});
