// A plot of columns over time, which is read with a pointer or with the keyboard.

import { draw, isNumber, make, say, shown } from "./dom.js";

const LEFT = 58, RIGHT = 8, TOP = 6, BOTTOM = 20, HEIGHT = 176;

/** Returns a step of 1, 2 or 5 times a power of ten, by which a range has about `n` ticks. */
function tickStep(range, n) {
  const rough = range / n, power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10);
}

function ticks(low, high, n) {
  const step = tickStep(high - low, n), found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) found.push(i * step);
  return { step, found };
}

/** Returns the least and the greatest value of the last three quarters, with room around: a run begins with a jump. */
function range(columns) {
  const settled = columns.flatMap((values) => values.slice(Math.floor(values.length / 4)).filter(isNumber));
  if (settled.length === 0) return null;
  let low = Infinity, high = -Infinity;
  for (const value of settled) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const room = 0.08 * (high - low) || Math.abs(high) * 1e-3 || 1;
  return [low - room, high + room];
}

const decimals = (step) => Math.max(0, Math.min(8, -Math.floor(Math.log10(step) + 1e-9)));

export class Plot {
  /** `lines`: of { label, of(data) → values }; `limits()`: of values that are marked. */
  constructor(parent, { title, unit, lines, limits = () => [] }) {
    Object.assign(this, { title, unit, lines, limits, at: null });
    const keys = lines.length < 2 ? [] : lines.map((line, i) =>
      make("span", { class: `key colour-${i}` }, make("i", { "aria-hidden": "true" }), line.label));
    this.svg = draw("svg", { role: "img", tabindex: "0", "aria-describedby": "plots-help" });
    this.output = make("output", { "aria-live": "polite" });
    this.figure = make("figure", {},
      make("figcaption", {}, make("strong", {}, `${title} (${unit})`), ...keys), this.svg, this.output);
    parent.append(this.figure);
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.move(null));
    new ResizeObserver(() => this.render()).observe(this.svg);
  }

  /** Takes new rows. Hides itself where no line has a value. */
  show(data) {
    this.time = (data.time ?? []).filter(isNumber);
    this.columns = this.lines.map((line) => line.of(data) ?? []);
    this.figure.hidden = this.time.length < 2 || !this.columns.some((column) => column.some(isNumber));
    if (this.at !== null && this.at >= this.time.length) this.at = null;
    this.render();
  }

  render() {
    const width = this.svg.clientWidth;
    if (this.figure.hidden || !this.time || width < 50) return;
    const values = range(this.columns);
    if (!values) return;
    const [low, high] = values, [first, last] = [this.time[0], this.time.at(-1)];
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.x = (t) => LEFT + ((t - first) / (last - first || 1)) * (width - LEFT - RIGHT);
    const y = (v) => TOP + ((high - v) / (high - low)) * (HEIGHT - TOP - BOTTOM);
    this.y = (v) => Math.max(-HEIGHT, Math.min(2 * HEIGHT, y(v)));
    const clip = `clip-${this.title.replace(/\W/g, "")}`;
    const parts = [draw("clipPath", { id: clip },
      draw("rect", { x: LEFT, y: TOP, width: width - LEFT - RIGHT, height: HEIGHT - TOP - BOTTOM }))];
    const vertical = ticks(low, high, 4), places = decimals(vertical.step);
    for (const tick of vertical.found) {
      parts.push(draw("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }));
      parts.push(draw("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, shown(tick, places)));
    }
    const inNs = last - first >= 10000, scale = inNs ? 1000 : 1;
    const horizontal = ticks(first / scale, last / scale, Math.max(2, width / 110));
    for (const tick of horizontal.found)
      parts.push(draw("text", { x: Math.min(this.x(tick * scale), width - 22), y: HEIGHT - 4, "text-anchor": "middle" },
        `${shown(tick, decimals(horizontal.step))}${tick === horizontal.found.at(-1) ? (inNs ? " ns" : " ps") : ""}`));
    for (const limit of this.limits().filter((one) => one > low && one < high))
      parts.push(draw("line", { class: "limit", x1: LEFT, x2: width - RIGHT, y1: y(limit), y2: y(limit) }));
    parts.push(draw("g", { "clip-path": `url(#${clip})` }, ...this.columns.map((column, i) =>
      draw("path", { class: `curve colour-${i}`, d: this.path(column) }))));
    parts.push((this.cursor = draw("g", {})));
    this.svg.replaceChildren(...parts);
    this.svg.setAttribute("aria-label", `${this.title}: ${this.words(this.time.length - 1)}`);
    this.mark();
  }

  /** Returns a path with gaps where there is no number. */
  path(column) {
    let text = "", pen = "M";
    for (let i = 0; i < this.time.length; ++i) {
      if (isNumber(column[i])) text += `${pen}${this.x(this.time[i]).toFixed(1)} ${this.y(column[i]).toFixed(1)}`;
      pen = isNumber(column[i]) ? "L" : "M";
    }
    return text;
  }

  /** Returns what the rows say at one of them. */
  words(row) {
    const digits = (value) => (value !== 0 && Math.abs(value) < 0.1 ? value.toPrecision(2) : shown(value, Math.abs(value) < 100 ? 3 : 1));
    const found = this.columns.map((column, i) => isNumber(column[row])
      ? `${this.lines.length > 1 ? `${this.lines[i].label} ` : ""}${digits(column[row])}` : null).filter(Boolean);
    return `${found.join(", ")} ${this.unit} at ${shown(this.time[row], 3)} ps`;
  }

  mark() {
    if (!this.cursor) return;
    if (this.at === null) {
      this.cursor.replaceChildren();
      say(this.output, "");
      return;
    }
    const x = this.x(this.time[this.at]);
    this.cursor.replaceChildren(draw("line", { class: "cursor", x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }),
      ...this.columns.map((column, i) => isNumber(column[this.at])
        ? draw("circle", { class: `colour-${i}`, cx: x, cy: this.y(column[this.at]), r: 3.5 }) : draw("g")));
    say(this.output, this.words(this.at));
  }

  move(row) {
    this.at = row === null ? null : Math.max(0, Math.min(this.time.length - 1, row));
    this.mark();
  }

  point(event) {
    if (!this.x) return;
    const x = event.clientX - this.svg.getBoundingClientRect().left;
    let nearest = 0;
    for (let i = 1; i < this.time.length; ++i)
      if (Math.abs(this.x(this.time[i]) - x) < Math.abs(this.x(this.time[nearest]) - x)) nearest = i;
    this.move(nearest);
  }

  key(event) {
    const last = this.time.length - 1, step = event.shiftKey ? 10 : 1, at = this.at ?? last;
    const places = { ArrowLeft: at - step, ArrowRight: at + step, Home: 0, End: last, Escape: null };
    if (!(event.key in places) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.move(places[event.key]);
  }
}
