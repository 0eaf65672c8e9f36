// What both suites use: the browser, dyno, and a page that is watched while it is
// driven. The packages lie outside of the tree, in the folder that WEB_TOOLS names.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

/** env is a variable that .ci/run sets. */
function env(name) {
  const value = process.env[name];
  assert.ok(value, `${name} is not set (consider: .ci/run, which sets it)`);
  return value;
}

const require = createRequire(join(env("WEB_TOOLS"), "package.json"));
const { chromium } = require("playwright-core");
const axeSource = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
export const dyno = env("DYNO");

/** scratch is a directory of this suite; it is removed when the process ends. */
export const scratch = mkdtempSync(join(tmpdir(), "dyno-web-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

/** patience is how long, in ms, anything may take before it counts as hanging. No page is judged by it: see within. */
const patience = 120_000;

/** launch starts the browser. */
export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** output is what a program prints. */
export async function output(program, args, options = {}) {
  const { stdout } = await run(program, args, { maxBuffer: 1 << 28, cwd: scratch, ...options });
  return stdout;
}

/**
 * synthetic makes a run directory, or a folder of them, with eval/page, and lets
 * dyno write what it makes of the results.
 */
export async function synthetic(kind, path = join(scratch, kind), scale = 1) {
  mkdirSync(dirname(path), { recursive: true });
  await output(env("EVAL_PAGE"), ["-kind", kind, "-out", path, "-scale", scale]);
  const runs = existsSync(join(path, "run.json")) ? [path] : readdirSync(path).map((name) => join(path, name));
  const waiting = runs.filter((dir) => existsSync(join(dir, "run.json")));
  await Promise.all(Array.from({ length: availableParallelism() }, async () => {
    for (let dir; (dir = waiting.pop());) {
      await output(dyno, ["run", "--resume", dir]).catch(() => {}); // one of invented results may lack a trial, and so it stays
    }
  }));
  return path;
}

/** A Watched is a page with all that was amiss on it. */
export class Watched {
  /** @param {object} [options] of the context */
  static async open(browser, options = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    await context.addInitScript(() => {
      const root = () => document.documentElement;
      new MutationObserver(() => {
        if (root()?.dataset.ready && !window.__ready) window.__ready = performance.now();
      }).observe(document, { subtree: true, attributes: true, attributeFilter: ["data-ready"] });
      addEventListener("securitypolicyviolation", (e) => (window.__violations ??= []).push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`));
    });
    context.setDefaultTimeout(patience);
    const w = new Watched();
    w.context = context;
    w.page = await context.newPage();
    w.amiss = [];
    w.requests = [];
    w.page.on("console", (m) => w.amiss.push(`console: ${m.type()}: ${m.text()} (${m.location().url})`));
    w.page.on("response", (r) => {
      if (r.status() >= 400) w.amiss.push(`${r.status()}: ${r.url()}`);
    });
    w.page.on("pageerror", (e) => w.amiss.push(`error: ${e.message}`));
    w.page.on("dialog", (d) => {
      w.amiss.push(`dialog: ${d.message()}`);
      d.dismiss();
    });
    w.page.on("request", (r) => {
      if (!/^(data|blob|about):/.test(r.url())) w.requests.push(r.url());
    });
    return w;
  }

  /** ready waits for the page's own word that all is drawn, and returns when that was, in ms of the page. */
  async ready() {
    await this.page.waitForFunction(() => window.__ready > 0, null);
    return this.page.evaluate(() => window.__ready);
  }

  /** clean fails if anything was amiss since it was called last. */
  async clean(what) {
    const violations = await this.page.evaluate(() => {
      const all = window.__violations ?? [];
      window.__violations = [];
      return all;
    });
    const all = [...this.amiss, ...violations.map((v) => `policy: ${v}`)];
    this.amiss = [];
    assert.deepEqual(all, [], `${what}: what the page said`);
  }

  /** accessible fails if axe finds a serious fault. What the page's policy keeps axe itself from counts for nothing. */
  async accessible(what) {
    const amiss = [...this.amiss];
    await this.page.evaluate(axeSource);
    const found = await this.page.evaluate(async () => {
      const violations = [...(window.__violations ?? [])];
      const result = await window.axe.run(document, { resultTypes: ["violations"], preload: false });
      await new Promise((resolve) => setTimeout(resolve));
      window.__violations = violations;
      return result.violations
        .filter((v) => v.impact === "serious" || v.impact === "critical")
        .map((v) => `${v.impact} ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | ")}`);
    });
    this.amiss = amiss;
    assert.deepEqual(found, [], `${what}: axe`);
  }

  /** drawn waits until every chart is, those that nobody has scrolled to as well. */
  async drawn() {
    await this.page.waitForFunction(() => [...document.querySelectorAll("figure.chart .plot canvas")].every((c) => {
      if (!c.checkVisibility()) return true;
      if (!c.width || !c.height) return false;
      const ctx = new OffscreenCanvas(64, 64).getContext("2d", { willReadFrequently: true });
      ctx.drawImage(c, 0, 0, 64, 64);
      return ctx.getImageData(0, 0, 64, 64).data.some((v) => v !== 0);
    }), null, { polling: 500 });
  }

  /** screenshot is kept if SHOTS names a directory. */
  async screenshot(name) {
    const dir = process.env.SHOTS;
    if (!dir) return;
    mkdirSync(dir, { recursive: true });
    await this.drawn();
    await this.page.screenshot({ path: join(dir, `${name}.png`), fullPage: true, timeout: 60_000 });
  }

  close() {
    return this.context.close();
  }
}

/**
 * quiet is what yardstick takes in ms on the machine on which the limits of time were set, left alone. It was not measured there:
 * it is the 190 ms of another day, on which all pages took 1.45 times as long as when the limits were set.
 */
const quiet = 130;

/**
 * yardstick opens a page that is none of ours, of 300 rows and no script, and returns by how much this machine is slower now
 * than the one for which limits of time are meant; at least 1. A machine of the cloud is twice as slow in one minute as in the
 * next, so that a limit in ms alone says more about it than about a page.
 */
async function yardstick(browser, t) {
  const row = `<tr>${Array.from({ length: 15 }, (_, i) => `<td>${"cell ".repeat(1 + (i % 3))}${i}</td>`).join("")}</tr>`;
  const page = `data:text/html,<!doctype html><title>rows</title><style>td{padding:4px;border:1px solid}</style><table>${row.repeat(300)}</table>`;
  const times = [];
  for (let i = 0; i < 3; i++) {
    const w = await Watched.open(browser);
    await w.page.goto(page);
    times.push(await w.page.evaluate(() => performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd));
    await w.close();
  }
  t.diagnostic(`a plain page was there after ${times.map(Math.round).join(", ")} ms`);
  return Math.max(1, Math.min(...times) / quiet);
}

/** within tells what times a page took, in ms and, if TIMES is set, fails if their median is above a limit: a busy machine has slow pages. */
export async function within(most, times, browser, t) {
  t.diagnostic(`after ${times.map(Math.round).join(", ")} ms`);
  if (!process.env.TIMES) return;
  const median = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
  assert.ok(median <= most * (await yardstick(browser, t)), `after ${times.map(Math.round)} ms, want ${most}`);
}

/** until waits until something holds. */
export async function until(what, holds) {
  for (const end = Date.now() + patience; !(await holds());) {
    assert.ok(Date.now() < end, what);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** looks are the four in which a page is looked at. */
export const looks = [1280, 390].flatMap((width) => ["light", "dark"].map((colorScheme) => ({
  name: `${width}-${colorScheme}`,
  options: { viewport: { width, height: width === 390 ? 844 : 900 }, colorScheme },
})));

/** A Server is a dyno view. */
export class Server {
  /** start serves a folder, at any port or a known one. */
  static async start(dir, port = 0, ...more) {
    const s = new Server();
    s.process = spawn(dyno, ["view", dir, "--addr", `127.0.0.1:${port}`, ...more], { cwd: scratch, stdio: ["ignore", "pipe", "inherit"] });
    s.ended = new Promise((resolve) => s.process.once("exit", resolve));
    const line = await Promise.race([
      new Promise((resolve) => createInterface(s.process.stdout).once("line", resolve)),
      s.ended.then((code) => Promise.reject(new Error(`dyno view ended with ${code}`))),
    ]);
    s.url = line.match(/http:\/\/\S+/)?.[0];
    assert.ok(s.url, `dyno view prints ${JSON.stringify(line)}, not its URL`);
    s.port = Number(new URL(s.url).port);
    s.secret = new URL(s.url).searchParams.get("secret");
    assert.ok(s.secret, `the URL has no secret: ${s.url}`);
    const { headers, status } = await fetch(s.url, { redirect: "manual" });
    s.cookie = headers.get("set-cookie")?.split(";")[0];
    assert.ok(s.cookie, `the URL is answered with ${status}, and no cookie`);
    return s;
  }

  /** to is the address of a path, for a browser that has not been here: with the secret, as dyno view prints it. */
  to(path) {
    const url = new URL(path, this.url);
    url.searchParams.set("secret", this.secret);
    return url.href;
  }

  async stop(signal = "SIGTERM") {
    this.process.kill(signal);
    await this.ended;
  }
}
