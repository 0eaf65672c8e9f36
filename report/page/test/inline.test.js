// The modules are served as they are, and inlined into a report as one script:
// without their import lines and the word export, in the order of their imports.
// For that their top-level names must differ, and imports be simple lines.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import vm from "node:vm";

const folder = new URL("../", import.meta.url);
const files = readdirSync(folder).filter((f) => f.endsWith(".js"));
const read = (f) => readFileSync(new URL(f, folder), "utf8");

function inOrder(entry) {
  const done = [], under = [];
  const add = (f) => {
    if (done.includes(f)) return;
    assert(!under.includes(f), `imports go round: ${[...under, f].join(" → ")}`);
    under.push(f);
    for (const m of read(f).matchAll(/^import \{[^}]*\} from "\.\/([a-z]+\.js)";$/gm)) add(m[1]);
    under.pop();
    done.push(f);
  };
  add(entry);
  return done;
}

test("all modules in one script", () => {
  const script = inOrder("page.js").map((f) => read(f)
    .replace(/^import .*$/gm, "").replace(/^export (?=(async )?function |const |class )/gm, "")).join("\n");
  new vm.Script(script, { filename: "all.js" }); // fails for a name declared twice
  assert(!/^\s*(import|export)\b/m.test(script), "an import or export is left");
});

for (const f of files) {
  test(`${f} asks nobody and runs no text`, () => {
    const text = read(f);
    assert(!/import\(/.test(text.replace(/\/\*\*[^]*?\*\//g, "")), "a module is named by data");
    assert(!/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/.test(text));
    assert(!/setAttribute\("(style|on)/.test(text), "a content policy would refuse it");
    assert(!/https?:\/\/(?!www\.w3\.org\/2000\/svg)/.test(text));
    assert(!/<\/?script|<!--/i.test(text), "it would end the script that it is inlined into");
    assert(text.startsWith("// @ts-check\n"));
    assert(text.split("\n").length <= 500);
  });
}
