// dyno view, as somebody with a browser has it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { dyno, launch, looks, output, root, scratch, Server, synthetic, Watched, within } from "./tool.mjs";

const mostOpen = 500; // ms
const mostZoom = 500; // ms

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

/** visit opens a page of a server and waits until it is there. */
async function visit(server, path, options) {
  const w = await Watched.open(browser, options);
  await w.page.goto(server.to(path), { waitUntil: "load" });
  return w;
}

/** runPage is the path of a run's page. */
const runPage = (id) => `/runs/${encodeURIComponent(id)}/`;

/** drag selects a part of a chart's time. */
async function drag(page, from, to) {
  const canvas = page.locator("figure.chart .plot canvas").first();
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * from, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, y, { steps: 4 });
  await page.evaluate(() => addEventListener("pointerup", () => (window.__up = performance.now()), { once: true, capture: true }));
  await page.mouse.up();
}

// Of 200 runs it is judged how soon they are there; a fifth shows all else.
const runs = process.env.TIMES ? 200 : 40;

describe(`a folder of ${runs} runs`, () => {
  let server, names;
  before(async () => {
    const dir = await synthetic("many", join(scratch, "many"), runs / 200);
    names = readdirSync(dir).sort();
    server = await Server.start(dir);
  });
  after(() => server?.stop());

  test("opens soon", async (t) => {
    const times = [];
    for (let i = 0; i < 3; i++) {
      const w = await visit(server, "/");
      const { domContentLoadedEventEnd } = await w.page.evaluate(() => performance.getEntriesByType("navigation")[0].toJSON());
      times.push(domContentLoadedEventEnd);
      assert.equal(await w.page.locator("#rows tr").count(), runs);
      await w.clean("the list");
      await w.close();
    }
    await within(mostOpen, times, browser, t);
  });

  test("is filtered by name", async () => {
    const w = await visit(server, "/");
    await w.page.locator("#find").fill("checkout");
    await w.page.waitForFunction((half) => [...document.querySelectorAll("#rows tr")].filter((r) => r.checkVisibility()).length === half, runs / 2);
    await w.clean("filtering");
    await w.close();
  });

  test("shows the change in the middle", async () => {
    const w = await visit(server, "/");
    await w.page.locator('a[href^="/trend?"]').filter({ hasText: "checkout" }).first().click();
    await w.page.waitForURL(/\/trend\?/);
    assert.match(await w.page.locator("main").innerText(), /change/i);
    assert.ok((await w.page.locator("figure svg").count()) > 0);
    await w.accessible("trend");
    await w.clean("the trend");
    await w.close();
  });

  for (const look of looks) {
    test(`is accessible at ${look.name}`, async () => {
      const pair = names.filter((n) => n.startsWith("checkout"));
      const pages = {
        list: "/",
        run: runPage(names[0]),
        compare: `/compare?a=${encodeURIComponent(pair[0])}&b=${encodeURIComponent(pair.at(-1))}`,
      };
      for (const [name, path] of Object.entries(pages)) {
        const w = await visit(server, path, look.options);
        if (name === "run") await w.ready();
        await w.screenshot(`view-${name}-${look.name}`);
        await w.accessible(`${name} at ${look.name}`);
        const wide = await w.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 1, `${name} is ${wide} px wider than the screen`);
        await w.clean(name);
        await w.close();
      }
    });
  }

  test("comes back when the server was killed", async () => {
    const w = await visit(server, runPage(names[0]));
    await w.ready();
    await server.stop("SIGKILL");
    server = await Server.start(join(scratch, "many"), server.port);
    await w.page.reload();
    await w.ready();
    assert.ok((await w.page.locator("#verdict").innerText()).length > 20);
    await w.clean("after the restart");
    await w.close();
  });
});

describe("a run of ten million requests", () => {
  let server;
  before(async () => {
    const dir = join(scratch, "big");
    await synthetic("requests", join(dir, "requests"));
    server = await Server.start(dir);
  });
  after(() => server?.stop());

  test("zooms soon, to what is known in full", async (t) => {
    const w = await visit(server, runPage("requests"));
    await w.ready();
    const times = [];
    for (let i = 0; i < 3; i++) {
      // The mark is set when what was asked for is drawn.
      await w.page.evaluate(() => {
        delete document.body.dataset.zoomed;
        new MutationObserver((_, o) => {
          if (!document.body.dataset.zoomed) return;
          o.disconnect();
          requestAnimationFrame(() => (window.__zoomed = performance.now()));
        }).observe(document.body, { attributeFilter: ["data-zoomed"] });
        window.__zoomed = 0;
      });
      await drag(w.page, 0.4, 0.6);
      await w.page.waitForFunction(() => window.__zoomed > 0, null);
      times.push(await w.page.evaluate(() => window.__zoomed - window.__up));
    }
    await w.screenshot("view-zoomed");
    await w.clean("zooming");
    await within(mostZoom, times, browser, t);
    await w.close();
  });
});

describe("a run under way", () => {
  let server, running, id;
  before(async () => {
    const dir = join(scratch, "live");
    mkdirSync(dir, { recursive: true });
    id = "now";
    server = await Server.start(dir);
    running = spawn(dyno, [
      "run", "-f", join(root, "examples/sessions/demo/1-gogc.yaml"), "--vary", "GOGC=100,50", "--repeat", "4", "--out", join(dir, id),
    ], { cwd: scratch, stdio: "ignore" });
    running.ended = new Promise((resolve) => running.once("exit", resolve));
    while (!readdirSync(dir).includes(id)) await new Promise((resolve) => setTimeout(resolve, 100));
  });
  after(async () => {
    running?.kill("SIGTERM");
    await running?.ended;
    await server?.stop();
  });

  test("is followed until its result is there", async () => {
    const w = await visit(server, runPage(id));
    await w.page.locator("#live").getByRole("progressbar").waitFor();
    const past = (least) => w.page.waitForFunction((least) => {
      const bar = document.querySelector("#live progress, #live [role=progressbar]");
      const done = bar ? Number(bar.value ?? bar.getAttribute("aria-valuenow")) : -1;
      return done > least && { done };
    }, least).then((handle) => handle.jsonValue());
    const { done } = await past(-1);
    await past(done);
    await w.accessible("live");
    await w.screenshot("view-live");
    await running.ended;
    await w.page.locator("#live").waitFor({ state: "detached" });
    await w.ready();
    assert.match(await w.page.locator("#verdict").innerText(), /GOGC=50 against GOGC=100/);
    await w.clean("following a run");
    await w.close();
  });
});

/** raw asks for a path as it is written, with any Host, as a browser that has been here. */
function raw(server, path, host = `127.0.0.1:${server.port}`, cookie = server.cookie) {
  return new Promise((resolve, reject) => {
    const head = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\nConnection: close\r\n\r\n`;
    const socket = net.connect(server.port, "127.0.0.1", () => socket.end(head));
    let text = "";
    socket.setEncoding("latin1").on("data", (d) => (text += d)).on("end", () => resolve(text)).on("error", reject);
  });
}

describe("runs that mean harm", () => {
  let server, dir;
  before(async () => {
    dir = await synthetic("hostile");
    server = await Server.start(dir);
  });
  after(() => server?.stop());

  /** harmless fails if a script of a run ran, or was kept from it by the policy alone. */
  async function harmless(w, what) {
    await w.page.waitForTimeout(200);
    assert.equal(await w.page.evaluate(() => window.__pwned), undefined, `${what}: a script ran`);
    await w.clean(what);
  }

  test("run no script on the list, their pages and those of their files", async () => {
    const w = await visit(server, "/");
    await harmless(w, "the list");
    const links = await w.page.locator('a[href^="/runs/"]').evaluateAll((all) => [...new Set(all.map((a) => a.href))]);
    assert.ok(links.length >= 5, `${links.length} links`);
    for (const link of links) {
      await w.page.goto(link);
      await harmless(w, link);
    }
    await w.close();
  });

  test("run no script when all of a page is opened", async () => {
    const w = await visit(server, runPage("harmful"));
    await w.ready();
    for (const d of await w.page.locator("details:not([open]) > summary").all()) if (await d.isVisible()) await d.click();
    for (const b of await w.page.locator(".flame button[data-url], .flame button[data-source]").all()) {
      await b.click();
      await w.page.waitForTimeout(500);
      for (const frame of w.page.frames()) assert.equal(await frame.evaluate(() => window.__pwned), undefined, `a script ran in ${frame.url()}`);
    }
    await harmless(w, "the opened page");
    await w.close();
  });

  test("their files are data", async () => {
    const w = await visit(server, `${runPage("harmful")}files/`);
    for (const name of ["page.html", "picture.svg", "stderr.log"]) {
      const path = `${runPage("harmful")}files/trials/0001/${name}`;
      const head = (await raw(server, path)).split("\r\n\r\n")[0];
      assert.match(head, /^HTTP\/1\.1 200/, name);
      assert.match(head, /content-type: (text\/plain|application\/octet-stream)/i, name);
      assert.match(head, /x-content-type-options: nosniff/i, name);
      assert.match(head, /content-security-policy: /i, name);
    }
    await w.page.goto(server.to(`${runPage("harmful")}files/trials/0001/page.html`)).catch(() => {}); // where it is a download
    assert.equal(await w.page.evaluate(() => window.__pwned), undefined);
    await w.close();
  });

  test("lead nowhere out of the folder", async () => {
    for (const path of [
      "/runs/../../../../etc/passwd", "/runs/..%2f..%2f..%2fetc%2fpasswd/", "/runs/harmful/files/../../../../etc/passwd",
      "/runs/harmful/files/..%2f..%2f..%2f..%2fetc%2fpasswd", "/runs/harmful/files/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
      "/runs/harmful/files//etc/passwd", "/runs/harmful/files/trials/0001/outside.txt", "/runs/harmful/files/trials/0001/etc/passwd",
      "/runs/root/etc/passwd", "/runs/root/files/etc/passwd", "/runs/loop/", "/assets/../../go.mod", "/runs/harmful/files/%00", "/runs/harmful/files/..\\..\\x",
    ]) {
      const answer = await raw(server, path);
      assert.doesNotMatch(answer, /root:.*:0:0:|^module /m, path);
      assert.doesNotMatch(answer, /^HTTP\/1\.1 (200|5)/, path);
    }
  });

  test("nobody sees them without the secret", async () => {
    for (const path of ["/", runPage("harmful"), `${runPage("harmful")}files/run.json`, `${runPage("harmful")}live`, "/?secret=guessed"]) {
      assert.match(await raw(server, path, undefined, "dyno=1"), /^HTTP\/1\.1 403/, path);
    }
    const w = await visit(server, runPage("harmful"));
    assert.equal(new URL(w.page.url()).search, "", "the secret stays in the address");
    await w.page.goto(new URL("/", server.url).origin);
    await harmless(w, "the list, with the cookie");
    await w.close();
  });

  test("another site's name is refused, and so are its forms", async () => {
    for (const host of ["evil.example", `evil.example:${server.port}`, `127.0.0.1.evil.example:${server.port}`, ""]) {
      assert.match(await raw(server, "/", host), /^HTTP\/1\.1 4/, host);
    }
    for (const path of ["stop", "resume"]) {
      const status = await new Promise((resolve, reject) => {
        const headers = { "Content-Type": "application/x-www-form-urlencoded", Cookie: server.cookie };
        http.request(server.to(`${runPage("harmful")}${path}`), { method: "POST", headers }, (r) => {
          r.resume();
          resolve(r.statusCode);
        }).on("error", reject).end("token=guessed");
      });
      assert.ok(status >= 400 && status < 500, `${path} without the token: ${status}`);
    }
  });

  test("every page has a policy that lets no foreign script run", async () => {
    for (const path of ["/", runPage("harmful"), "/compare", `${runPage("harmful")}files/`, "/nowhere"]) {
      const head = (await raw(server, path)).split("\r\n\r\n")[0];
      const policy = head.match(/content-security-policy: (.*)/i)?.[1] ?? "";
      assert.match(policy, /default-src 'none'/, path);
      assert.doesNotMatch(policy, /script-src[^;]*('unsafe-inline'|'unsafe-eval'|https?:|\*)/, path);
      assert.match(policy, /frame-ancestors '(none|self)'/, path);
      assert.match(head, /x-content-type-options: nosniff/i, path);
    }
  });

  test("a report of them runs no script either", async () => {
    const html = await output(dyno, ["report", join(dir, "harmful"), "--format", "html"]);
    const file = join(scratch, "harmful.html");
    writeFileSync(file, html);
    assert.ok(html.length < 2_000_000, `${html.length} characters`);
    const w = await Watched.open(browser, { offline: true });
    await w.page.goto(`file://${file}`);
    await w.ready();
    for (const d of await w.page.locator("details:not([open]) > summary").all()) if (await d.isVisible()) await d.click();
    for (const b of await w.page.locator(".flame button[data-source]").all()) {
      await b.click();
      await w.page.waitForTimeout(500);
      for (const frame of w.page.frames()) assert.equal(await frame.evaluate(() => window.__pwned), undefined, `a script ran in ${frame.url()}`);
    }
    await harmless(w, "the report");
    await w.screenshot("report-harmful");
    await w.close();
  });
});
