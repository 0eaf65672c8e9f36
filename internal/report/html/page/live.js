// @ts-check
// A run under way: how far it is, the trial's latency and memory by now, results
// as they come, and buttons to stop it and to go on with it. What is told comes
// as server-sent events (web/live.go).

/** @typedef {{done: number, failed: number, planned: number, "within-sec"?: number, trial?: number, block?: number, setting?: string, beside?: boolean, for?: string, phase: string, "elapsed-sec": number, "left-sec": number}} Progress */
/** What is told of a trial under way; of those side by side beside has the numbers of all. @typedef {{trial: number, beside?: number[], setting?: string}} Told */
/** @typedef {{sec: number, p50: number, p99: number, max: number, requests: number}} Second */
/** @typedef {{trial: number, setting: string, for?: string, error?: string, values: Record<string, number>}} Result */
/** @typedef {{name: string, colour: string, dash: number[], points: [number, number][]}} Line */

const shown = 300; // seconds of a chart, at most
const least = 60; // and at least
const mostRows = 200;
const height = 150;

/** Columns of the table of results. @type {[metric: string, name: string, write: (v: number) => string][]} */
const columns = [
  ["p50-sec", "p50", duration], ["p99-sec", "p99", duration], ["req/s", "req/s", count],
  ["cpu-sec/req", "CPU per request", duration], ["rss-peak-B", "RSS peak", bytes],
];

/** Series of a chart of memory, those that there are. @type {[metric: string, name: string, colour: string, dash: number[]][]} */
const memory = [
  ["rss-B", "RSS", "--c0", []], ["heap-B", "heap", "--c1", [5, 2]],
  ["heap-live-B", "live heap", "--c2", [2, 2]], ["heap-goal-B", "goal", "--faint", [1, 3]],
];

/** duration writes seconds with three digits and a unit. @param {number} sec @returns {string} */
export function duration(sec) {
  const [unit, factor] = sec >= 1 ? ["s", 1] : sec >= 1e-3 ? ["ms", 1e3] : ["µs", 1e6];
  return `${digits(sec * Number(factor))} ${unit}`;
}

/** bytes writes a size with an IEC unit. @param {number} n @returns {string} */
export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; Math.abs(n) >= 1024 && i < units.length - 1; i++) n /= 1024;
  return `${digits(n)} ${units[i]}`;
}

/** count writes a number in groups of three. @param {number} n @returns {string} */
export function count(n) {
  return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

/** digits keeps three of them. @param {number} x */
function digits(x) {
  if (x === 0) return "0";
  const a = Math.abs(x);
  return a >= 1000 ? count(x) : x.toFixed(a >= 100 ? 0 : a >= 10 ? 1 : 2);
}

/** time writes whole seconds as a reader says them. @param {number} sec @returns {string} */
export function time(sec) {
  sec = Math.round(sec);
  if (sec < 60) return `${sec} s`;
  const min = Math.round(sec / 60);
  return min < 90 ? `${min} min` : `${Math.floor(min / 60)} h ${min % 60} min`;
}

/** doneText says how much of a run is done. @param {Progress} p @returns {string} */
export function doneText(p) {
  const of = p.planned || p.done;
  const text = `${p.done}${p.planned ? ` of ${p.planned}` : ""} ${of === 1 ? "trial is" : "trials are"} done`;
  return p.failed ? `${text}, ${p.failed} of them failed` : text;
}

/** progressText says how far a run is. @param {Progress} p @returns {string} */
export function progressText(p) {
  let text = doneText(p);
  if (p.trial || p.block) {
    text += p.block ? `. Block ${p.block}` : `. Trial ${p.trial}`;
    if (p.setting) text += `, ${p.setting}`;
    if (p.beside) text += " side by side";
    if (p.for) text += `, for ${p.for}`;
    text += `: ${p.phase} for ${time(p["elapsed-sec"])}`;
  } else {
    text += p.done < p.planned || !p.planned ? ". Preparing the next" : ". Writing the report";
  }
  if (p["left-sec"] >= 0 && p.done < p.planned) text += `. About ${time(p["left-sec"])} left`;
  if (p["within-sec"]) text += `. It ends when its verdicts are decided, or its time (${time(p["within-sec"])}) is up`;
  return `${text}.`;
}

/** add adds points that are later than those there, and drops those out of sight. @param {[number, number][]} to @param {[number, number][]} from */
export function add(to, from) {
  const last = to.length ? to[to.length - 1][0] : -Infinity;
  for (const p of from) if (p[0] > last) to.push(p);
  const oldest = (to.length ? to[to.length - 1][0] : 0) - shown;
  let drop = 0;
  while (drop < to.length && to[drop][0] < oldest) drop++;
  to.splice(0, drop);
}

/** ticks are round values from low to high: of a linear axis some five, of a logarithmic one powers of ten. @param {number} low @param {number} high @param {boolean} log @returns {number[]} */
export function ticks(low, high, log) {
  const out = [];
  if (log) {
    for (let e = Math.ceil(Math.log10(low) - 1e-9); e <= Math.log10(high) + 1e-9; e++) out.push(10 ** e);
    return out;
  }
  const raw = (high - low) / 4, base = 2 ** Math.floor(Math.log2(raw)); // sizes are powers of two
  const step = raw > base * 1.5 ? base * 2 : base;
  for (let v = Math.ceil(low / step) * step; v <= high; v += step) out.push(v);
  return out;
}

/**
 * make makes an element.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {string} [text]
 * @param {Record<string, string>} [attributes]
 * @returns {HTMLElementTagNameMap[T]}
 */
function make(tag, text = "", attributes = {}) {
  const e = document.createElement(tag);
  e.textContent = text;
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  return e;
}

/** A Chart draws lines over the last minutes, and says the latest values. */
class Chart {
  /**
   * @param {string} title
   * @param {(v: number) => string} write
   * @param {boolean} log
   */
  constructor(title, write, log) {
    this.write = write;
    this.log = log;
    /** @type {Line[]} */
    this.lines = [];
    this.canvas = make("canvas", "", { role: "img", "aria-label": `${title} over the last minutes; the latest values are below` });
    this.canvas.style.width = "100%";
    this.canvas.style.height = `${height}px`;
    this.readout = make("figcaption", "nothing yet");
    this.element = make("figure");
    this.element.className = "live-chart";
    this.element.append(make("h3", title), this.canvas, this.readout);
    this.waiting = false;
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /** line is the one of a name. @param {string} name @param {string} colour @param {number[]} dash */
  line(name, colour, dash) {
    let l = this.lines.find((x) => x.name === name);
    if (!l) this.lines.push((l = { name, colour, dash, points: [] }));
    return l;
  }

  clear() {
    this.lines.length = 0;
    this.show("");
  }

  /** show draws soon; more is said after the latest values. @param {string} more */
  show(more) {
    const parts = this.lines.filter((l) => l.points.length).map((l) => {
      const mark = make("span", `${l.dash.length ? (l.dash[0] > 2 ? "╍" : "┄") : "━"} `, { "aria-hidden": "true" });
      mark.style.color = `var(${l.colour})`;
      const part = make("span");
      part.append(mark, `${l.name} ${this.write(l.points[l.points.length - 1][1])}; `);
      return part;
    });
    if (parts.length) this.readout.replaceChildren(...parts, more);
    else this.readout.textContent = "nothing yet";
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const dpr = devicePixelRatio || 1, w = this.canvas.clientWidth, ctx = this.canvas.getContext("2d");
    if (!ctx || !w) return;
    this.canvas.width = Math.round(w * dpr);
    this.canvas.height = Math.round(height * dpr);
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    const all = this.lines.flatMap((l) => l.points).filter((p) => !this.log || p[1] > 0);
    if (!all.length) return;
    const style = getComputedStyle(document.documentElement);
    const css = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
    const values = all.map((p) => p[1]), end = Math.max(...all.map((p) => p[0]));
    const span = Math.max(least, end - Math.min(...all.map((p) => p[0])));
    const low = this.log ? Math.min(...values) / 1.5 : 0, high = Math.max(...values) * (this.log ? 1.5 : 1.1) || 1;
    const left = 64, bottom = height - 18, f = this.log ? Math.log10 : Number;
    const x = (/** @type {number} */ t) => w - 4 - ((end - t) / span) * (w - left - 4);
    const y = (/** @type {number} */ v) => bottom - ((f(v) - f(low)) / (f(high) - f(low))) * (bottom - 6);
    ctx.font = `11px ${getComputedStyle(this.canvas).fontFamily}`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "right";
    for (const t of ticks(low, high, this.log)) {
      ctx.strokeStyle = css("--line");
      ctx.beginPath();
      ctx.moveTo(left, y(t));
      ctx.lineTo(w, y(t));
      ctx.stroke();
      ctx.fillStyle = css("--faint");
      ctx.fillText(this.write(t).replace(/\.0+ /, " "), left - 6, y(t));
    }
    for (let back = 0, step = span > 120 ? 60 : 20; back <= span; back += step) {
      ctx.fillText(back ? `−${time(back)}` : "now", Math.min(x(end - back) + 18, w), height - 7);
    }
    ctx.lineWidth = 1.5;
    for (const l of this.lines) {
      ctx.strokeStyle = css(l.colour);
      ctx.setLineDash(l.dash);
      ctx.beginPath();
      let before = -Infinity;
      for (const [t, v] of l.points) {
        if (this.log && v <= 0) continue;
        if (t - before > 15) ctx.moveTo(x(t), y(v)); // a gap
        ctx.lineTo(x(t), y(v));
        before = t;
      }
      ctx.stroke();
    }
    ctx.setLineDash([]);
  }
}

/** A Table has the results as they come, the latest first. */
class Table {
  constructor() {
    /** @type {Map<number, HTMLTableRowElement>} */
    this.rows = new Map();
    const head = make("tr");
    for (const name of ["Trial", "Setting", ...columns.map((c) => c[1])]) head.append(make("th", name, { scope: "col" }));
    const thead = make("thead");
    thead.append(head);
    this.body = make("tbody");
    const table = make("table");
    table.append(make("caption", "Results so far; verdicts follow when the run is over"), thead, this.body);
    this.element = make("div", "", { tabindex: "0", role: "region", "aria-label": "Results so far" });
    this.element.className = "scroll";
    this.element.hidden = true;
    this.element.append(table);
  }

  /** @param {Result} r */
  add(r) {
    const row = make("tr");
    row.append(make("th", String(r.trial), { scope: "row" }), make("td", r.setting + (r.for ? ` (for ${r.for})` : "")));
    if (r.error) {
      row.append(make("td", `failed: ${r.error}`, { colspan: String(columns.length) }));
    } else {
      for (const [metric, , write] of columns) {
        const cell = make("td", metric in r.values ? write(r.values[metric]) : "–");
        cell.className = "number";
        row.append(cell);
      }
    }
    this.rows.get(r.trial)?.remove();
    this.rows.set(r.trial, row);
    this.body.prepend(row);
    while (this.body.rows.length > mostRows) this.body.rows[mostRows].remove();
    this.element.hidden = false;
  }
}

/**
 * start follows a run in root, which it fills and shows, until the run is over;
 * then it loads the page anew, once.
 * @param {string} url of the events; beside it are stop and resume
 * @param {HTMLElement} root
 */
export function start(url, root) {
  const status = make("p", "Asking for the progress of the run …", { role: "status" });
  const bar = make("progress", "", { "aria-label": "trials done" });
  const trouble = make("p", "", { role: "alert" });
  trouble.className = "trouble";
  const latency = new Chart("Latency", duration, true), resident = new Chart("Memory", bytes, false);
  const table = new Table();
  const charts = make("div");
  charts.className = "live-charts";
  charts.append(latency.element, resident.element);
  const stop = button("Stop", "stop"), resume = button("Resume", "resume");
  resume.hidden = true;
  const title = make("h2", "Under way");
  root.replaceChildren(title, bar, status, stop, resume, trouble, charts, table.element);
  root.hidden = false;

  /** @param {string} name @param {string} action */
  function button(name, action) {
    const b = make("button", name, { type: "button" });
    b.addEventListener("click", async () => {
      b.disabled = true;
      trouble.textContent = "";
      const wrong = await ask(url.replace(/live$/, action));
      trouble.textContent = wrong;
      if (wrong) b.disabled = false;
      else if (action === "resume") location.reload();
      else trouble.textContent = "Stopping. Results so far are kept and reported; the current trial is not.";
    });
    return b;
  }

  const source = new EventSource(url);
  source.addEventListener("open", () => { trouble.textContent = ""; });
  source.addEventListener("error", () => {
    trouble.textContent = source.readyState === EventSource.CLOSED
      ? "The server does not report progress (consider: to reload the page)."
      : "The connection is lost; trying again …";
  });
  draw(source, latency, resident);
  on(source, "result", (/** @type {Result} */ r) => table.add(r));
  let told = 0;
  /** @type {Progress | undefined} */
  let last;
  on(source, "progress", (/** @type {Progress} */ p) => {
    told++;
    last = p;
    status.textContent = progressText(p);
    if (p.planned) {
      bar.max = p.planned;
      bar.value = p.done;
    } else {
      bar.removeAttribute("value"); // nobody knows how many
    }
  });
  on(source, "end", (/** @type {{state: string}} */ e) => {
    source.close();
    if (told > 1) { // this page saw it go on, and is of before its end
      location.reload();
      return;
    }
    stop.hidden = true;
    resume.hidden = e.state !== "stopped";
    title.textContent = e.state === "stopped" ? "Stopped" : "Over";
    if (e.state === "stopped" && last) status.textContent = `It was stopped: ${doneText(last)}.`;
    bar.hidden = !bar.hasAttribute("value");
    charts.hidden = true;
  });
}

/** on takes the data of events of a name. @param {EventSource} source @param {string} name @param {(data: any) => void} take */
function on(source, name, take) {
  source.addEventListener(name, (e) => take(JSON.parse(/** @type {MessageEvent} */ (e).data)));
}

/** Lines of a chart of latency. @type {[key: "p50" | "p99" | "max", colour: string, dash: number[]][]} */
const percentiles = [["p50", "--c0", []], ["p99", "--c1", [5, 2]], ["max", "--faint", [1, 3]]];

const colours = 10; // of settings, --c0 to --c9

/**
 * lines are those of a chart that a trial has. Side by side each has a colour, and two lines: more could not
 * be told apart.
 * @template {string} T
 * @param {Told} e
 * @param {[key: T, name: string, colour: string, dash: number[]][]} all
 * @returns {[key: T, name: string, colour: string, dash: number[]][]}
 */
export function lines(e, all) {
  if (!e.beside) return all;
  const colour = `--c${e.beside.indexOf(e.trial) % colours}`;
  return all.slice(0, 2).map(([key, name, , dash]) => [key, `${e.setting} ${name}`, colour, dash]);
}

/**
 * draw draws what is told of the trials under way; others begin anew.
 * @param {EventSource} source
 * @param {Chart} latency
 * @param {Chart} resident
 */
function draw(source, latency, resident) {
  let under = "";
  const of = (/** @type {Told} */ e) => {
    const now = String(e.beside ?? e.trial);
    if (now === under) return;
    under = now;
    latency.clear();
    resident.clear();
  };
  on(source, "points", (/** @type {Told & {points: Record<string, [number, number][]>}} */ e) => {
    of(e);
    for (const [metric, name, colour, dash] of lines(e, memory)) {
      if (e.points[metric]) add(resident.line(name, colour, dash).points, e.points[metric]);
    }
    resident.show("the latest readings");
  });
  on(source, "latency", (/** @type {Told & {seconds: Second[]}} */ e) => {
    of(e);
    for (const [key, name, colour, dash] of lines(e, percentiles.map(([k, c, d]) => [k, k, c, d]))) {
      add(latency.line(name, colour, dash).points, e.seconds.map((s) => [s.sec, s[key]]));
    }
    latency.show(e.beside ? "in turns" : `${count(e.seconds[e.seconds.length - 1].requests)} requests in that second`);
  });
}

/**
 * ask asks for something that changes the run.
 * @param {string} url
 * @returns {Promise<string>} what went wrong, or ""
 */
async function ask(url) {
  const token = document.querySelector("meta[name=token]")?.getAttribute("content") ?? "";
  try {
    const answer = await fetch(url, { method: "POST", headers: { "X-Dyno-Token": token }, redirect: "manual" });
    if (answer.ok || answer.type === "opaqueredirect") return "";
    const text = await answer.text();
    return answer.headers.get("Content-Type")?.startsWith("text/plain") ? text.trim() : `the server refuses (${answer.status})`;
  } catch (e) {
    return `ask the server: ${e instanceof Error ? e.message : e}`;
  }
}
