// The modules are served as they are, and put into a report as an import map.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";

const folder = new URL("../", import.meta.url);
const files = readdirSync(folder).filter((f) => f.endsWith(".js"));
const read = (f) => readFileSync(new URL(f, folder), "utf8");

for (const f of files) {
  test(`${f} asks nobody and runs no text`, () => {
    const text = read(f);
    assert(!/import\(/.test(text.replace(/\/\*\*[^]*?\*\//g, "")), "a module is named by data");
    assert(!/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/.test(text));
    assert(!/setAttribute\("(style|on)/.test(text), "a content policy would refuse it");
    assert(!/https?:\/\/(?!www\.w3\.org\/2000\/svg)/.test(text));
    assert(!/<\/?script|<!--/i.test(text), "it would end the script around it");
    assert(text.startsWith("// @ts-check\n"));
    assert(text.split("\n").length <= 500);
  });
}
