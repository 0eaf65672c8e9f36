// report.html, as a reader has it: a file, opened with a double click, on a machine
// that has no network.

import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { dyno, launch, looks, output, root, scratch, synthetic, until, Watched, within } from "./tool.mjs";

const mostBytes = 2_000_000;
const mostReady = 1500; // ms

/** what each report is of, and how its run directory is made. */
const kinds = {
  ...(process.env.TIMES && { // .ci/long has them
    study: () => synthetic("study"), // 60,000 requests × 5 settings × 5 blocks
    hours: () => synthetic("hours"), // 5 settings × 5 hours, 45 million requests
  }),
  real: async () => {
    const dir = join(scratch, "real");
    await output(dyno, [
      "run", "-f", join(root, "examples/sessions/demo/1-gogc.yaml"), "--vary", "GOGC=100,50", "--repeat", "2", "--profile", "cpu,allocs", "--out", dir,
    ]);
    return dir;
  },
};

/** plots are the canvases that show time: a legend is none. */
const plots = 'figure.chart[data-kind="heat"] .plot canvas, figure.chart[data-kind="tracks"] .plot canvas';

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

/**
 * saved is the file that a chart's button saves. Chromium loses a download now and then, on a busy
 * machine, without a word; a reader clicks once more. A failure that the page tells is one at once.
 */
async function saved(page, figure, what) {
  for (let clicks = 1; ; clicks++) {
    const [download] = await Promise.all([
      page.waitForEvent("download", { timeout: 30_000 }).catch((e) => e),
      figure.getByRole("button", { name: new RegExp(`^${what}`) }).click(),
    ]);
    if (!(download instanceof Error)) return download;
    assert.equal(await figure.locator(".status").innerText(), "", `the page says that it cannot save ${what}`);
    if (clicks === 3) throw download;
  }
}

for (const [kind, make] of Object.entries(kinds)) {
  describe(`report of ${kind}`, () => {
    const file = join(scratch, `${kind}.html`), url = pathToFileURL(file).href;
    let made;

    /** there makes the report, once. */
    const there = () => made ??= (async () => writeFileSync(file, await output(dyno, ["report", await make(), "--format", "html"])))();

    /** open opens the report where there is no network, and waits until it is drawn. */
    async function open(options) {
      await there();
      const w = await Watched.open(browser, { offline: true, acceptDownloads: true, ...options });
      await w.page.goto(url);
      await w.ready();
      return w;
    }

    test("is one small file", async () => {
      await there();
      const { size } = statSync(file);
      assert.ok(size <= mostBytes, `${size} bytes`);
      assert.ok(size > 20_000, `${size} bytes are no report`);
      if (kind !== "real") assert.match(readFileSync(file, "utf8"), /synthetic/);
    });

    test("is ready soon, says nothing and asks nobody", async (t) => {
      await there();
      const times = [];
      for (let i = 0; i < 3; i++) {
        const w = await Watched.open(browser, { offline: true });
        await w.page.goto(url);
        times.push(await w.ready());
        await w.page.waitForTimeout(500); // for what comes after
        await w.clean("when it was opened");
        assert.deepEqual(w.requests, [url]);
        await w.close();
      }
      await within(mostReady, times, browser, t);
    });

    test("zooms all charts together", async () => {
      const w = await open();
      const canvases = w.page.locator(plots);
      assert.ok((await canvases.count()) > 0, "there is no canvas");
      const first = canvases.first();
      await first.scrollIntoViewIfNeeded();
      const pixels = () => canvases.evaluateAll((all) => all.filter((c) => c.getBoundingClientRect().top < innerHeight).map((c) => c.toDataURL()));
      const whole = await pixels();
      const box = await first.boundingBox();
      const y = box.y + box.height / 2;
      await w.page.mouse.move(box.x + box.width * 0.4, y);
      await w.page.mouse.down();
      await w.page.mouse.move(box.x + box.width * 0.6, y, { steps: 5 });
      await w.page.mouse.up();
      await w.page.waitForFunction(() => location.hash.length > 1);
      await until("a canvas is as it was", async () => (await pixels()).every((p, i) => p !== whole[i]));
      const hash = await w.page.evaluate(() => location.hash);
      await w.page.reload();
      await w.ready();
      assert.equal(await w.page.evaluate(() => location.hash), hash, "the range outlives a reload");
      await w.clean("zooming");
      await w.close();
    });

    test("draws all charts, before anybody looks", async () => {
      const w = await open();
      assert.ok((await w.page.locator(plots).count()) >= 2);
      await w.drawn();
      await w.clean("drawing");
      await w.close();
    });

    test("has a theme to choose", async () => {
      const w = await open({ colorScheme: "light" });
      const seen = new Set();
      for (let i = 0; i < 3; i++) {
        seen.add(await w.page.evaluate(() => [document.documentElement, document.body].map((e) => getComputedStyle(e)).map((s) => `${s.color} on ${s.backgroundColor}`).join()));
        await w.page.locator("#theme, button.theme").click();
      }
      assert.ok(seen.size >= 2, `the colours stay ${[...seen]}`);
      await w.clean("switching the theme");
      await w.close();
    });

    test("opens a flame graph", async () => {
      const w = await open();
      const button = w.page.locator(".flame button[data-source]").first();
      await button.scrollIntoViewIfNeeded();
      await button.click();
      const frame = w.page.frameLocator(".flame iframe").first();
      const boxes = frame.locator("#stack-chart .boxtext");
      await boxes.nth(1).waitFor();
      assert.equal(await w.page.locator(".flame iframe").first().getAttribute("sandbox"), "allow-scripts");
      const before = await frame.locator("#stack-chart").innerText();
      // One of the narrow ones. What all stacks go through, as where a profile has few, shows nothing new.
      let box = await boxes.count();
      await until("a click shows the stacks that go through a function", async () => {
        box = box > 1 ? box - 1 : (await boxes.count()) - 1;
        await boxes.nth(box).click({ timeout: 5000 }).catch(() => {});
        return (await frame.locator("#stack-chart").innerText()) !== before;
      });
      await w.clean("in the flame graph");
      assert.deepEqual(w.requests, [url]);
      await w.close();
    });

    test("has a table under each chart", async () => {
      const w = await open();
      const figures = w.page.locator("figure.chart");
      const n = await figures.count();
      assert.ok(n >= 3, `${n} charts`);
      for (let i = 0; i < n; i++) {
        const details = figures.nth(i).locator("details.table");
        assert.equal(await details.count(), 1, `chart ${i} (${await figures.nth(i).getAttribute("data-name")}) has a table`);
        await details.locator("summary").click();
        assert.ok((await details.locator("tbody tr").count()) > 0, `the table of chart ${i} has rows`);
        assert.ok((await details.locator("tbody tr").first().innerText()).trim() !== "");
      }
      await w.clean("reading tables");
      await w.close();
    });

    test("saves each chart", async () => {
      const w = await open();
      const figures = w.page.locator("figure.chart");
      for (let i = 0; i < await figures.count(); i++) {
        for (const [what, magic] of [["CSV", /,/], ["PNG", /^\x89PNG/]]) {
          const download = await saved(w.page, figures.nth(i), what);
          const data = readFileSync(await download.path());
          assert.ok(data.length > 40, `${download.suggestedFilename()} of chart ${i} has ${data.length} bytes`);
          assert.match(data.toString("latin1"), magic);
        }
      }
      await w.clean("saving");
      await w.close();
    });

    for (const look of looks) {
      test(`is accessible, and fits, at ${look.name}`, async () => {
        const w = await open(look.options);
        await w.screenshot(`report-${kind}-${look.name}`);
        await w.accessible(look.name);
        const wide = await w.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 1, `the page is ${wide} px wider than the screen`);
        const tall = await w.page.locator("figure.chart .picture svg").evaluateAll((all) => all.filter((s) => s.getBoundingClientRect().height > 1500).length);
        assert.equal(tall, 0, "pictures that no screen can hold: are the styles there?");
        await w.clean(look.name);
        await w.close();
      });
    }

    test("is read by keyboard alone", async () => {
      const w = await open();
      const picture = w.page.locator('figure.chart[data-kind="heat"] [tabindex="0"], figure.chart[data-kind="tracks"] [tabindex="0"]').first();
      await picture.focus();
      await w.page.keyboard.press("+");
      await w.page.waitForFunction(() => location.hash.length > 1);
      await w.clean("keys");
      await w.close();
    });

    test("is read without scripts", async () => {
      await there();
      const context = await browser.newContext({ javaScriptEnabled: false, offline: true });
      const page = await context.newPage();
      await page.goto(url);
      assert.ok((await page.locator("#verdict").innerText()).length > 60, "the verdict is there");
      const tables = page.locator("main table");
      assert.ok((await tables.count()) > 2, "the tables are there");
      const details = page.locator("details.table").first();
      await details.locator("summary").click();
      assert.ok(await details.locator("tbody tr").first().isVisible());
      assert.ok((await page.locator("figure.chart svg").count()) > 0, "the charts that are no canvas are there");
      await context.close();
    });

    test("prints", async () => {
      const w = await open({ colorScheme: "dark" });
      const pdf = await w.page.pdf({ format: "A4" });
      const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b(?!s)/g)?.length ?? 0;
      assert.ok(pages > 1, `${pages} pages`);
      if (process.env.SHOTS) writeFileSync(join(process.env.SHOTS, `report-${kind}.pdf`), pdf);
      await w.clean("printing");
      await w.close();
    });
  });
}
