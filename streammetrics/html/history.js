"use strict";
const page = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const [metric, segment, from, to] = ["metric", "segment", "from", "to"].map(element);
const names = page.segments.flatMap(([, own]) => own);
const times = page.windows.map((window) => Date.parse(window.length > 10 ? window + "Z" : window));
const last = times.length - 1;
const LEFT = 52, RIGHT = 4, INSET = 8, LETTER = 6.6, BINS = 10, DAY = 864e5;
const GAP = 4; // usual steps between windows, beyond which a line is broken
const step = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b)[(times.length - 1) >> 1] ?? DAY;
const shown = { first: 0, last, at: null };
const unpacked = new Map();

// Numbers of a measure: inflated once, and put together for a segment when they are drawn.
async function columnsOf(measure) {
  const packed = Uint8Array.from(atob(measure.data), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let at = 0;
  return measure.planes.map((planes) => {
    const column = new Uint32Array(names.length * times.length);
    for (let plane = 0; plane < planes; plane++) {
      for (let i = 0; i < column.length; i++) column[i] |= bytes[at++] << (8 * plane);
    }
    return column;
  });
}

async function series(measure, place) {
  if (!measure) return null;
  if (!unpacked.has(measure)) unpacked.set(measure, columnsOf(measure));
  const [steps, below, above, ...ends] = await unpacked.get(measure);
  const exponent = measure.exponents[place];
  const scaled = (number) => (exponent < 0 ? number / 10 ** -exponent : number * 10 ** exponent);
  const signed = (code) => (code >>> 1) ^ -(code & 1);
  const none = () => new Float64Array(times.length).fill(NaN);
  const found = { digits: Math.max(0, -exponent), value: none(), lower: none(), upper: none(), ends: [none(), none()] };
  for (let window = 0, number = 0; window <= last; window++) {
    const i = place * times.length + window;
    number += signed(steps[i]);
    if (!below[i]) continue;
    found.value[window] = scaled(number);
    found.lower[window] = scaled(number - below[i] + 1);
    found.upper[window] = scaled(number + above[i]);
    ends.forEach((end, k) => { if (end[i]) found.ends[k][window] = scaled(number + signed(end[i] - 1)); });
  }
  return found;
}

function svg(parent, name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function html(parent, name, text, attributes = {}) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(text);
  parent.append(made);
  return made;
}

// Round numbers between two others.
function ticks(low, high, most) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return { found, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

const written = (time, form) => new Intl.DateTimeFormat("en", { timeZone: "UTC", ...form }).format(time);

const CLOCK = { hour: "2-digit", minute: "2-digit", hour12: false }, DATE = { day: "numeric", month: "short" };
const UNITS = [
  ...[1 / 60, 1 / 12, 0.25, 0.5, 1, 3, 6, 12].map((hours) => ({ length: hours * 36e5, form: CLOCK })),
  ...[1, 2, 7, 14].map((days) => ({ length: days * DAY, form: DATE })),
  ...[1, 2, 3, 6, 12, 24, 60, 120].map((months) => ({ length: months * 30.44 * DAY, months, form: { year: "numeric", ...(months < 12 && { month: "short" }) } })),
];

// The first shown window of each unit of time, the shortest with room for labels. Days are counted from the first window, with which weeks begin.
function timeTicks(most) {
  const start = times[shown.first], room = (times[shown.last] - start) / most, midnight = Math.floor(start / DAY) * DAY;
  const shortest = UNITS.findLastIndex(({ length }) => length * 0.9 <= step), found = [];
  const { length, months, form } = UNITS.find((unit, i) => i >= shortest && unit.length >= room) ?? UNITS.at(-1);
  const calendar = (date) => Math.floor((date.getUTCFullYear() * 12 + date.getUTCMonth()) / months);
  const number = (time) => (months ? calendar(new Date(time)) : Math.floor((time - midnight) / length));
  for (let i = shown.first; i <= shown.last; i++) {
    const before = i > shown.first ? times[i - 1] : months ? start - step : -Infinity; // a month is named only from its beginning
    if (number(times[i]) === number(before)) continue;
    if (found.length && times[i] - found.at(-1) < 0.7 * room) found.pop(); // beside which the label of this one has no room
    found.push(times[i]);
  }
  return found.map((time) => [time, written(time, form === CLOCK && time % DAY === 0 ? DATE : form)]);
}

// Pieces of a line, which is broken where there is no number, and at long gaps between windows.
function pieces(numbers) {
  const found = [];
  for (let i = shown.first, open = false; i <= shown.last; i++) {
    const known = !Number.isNaN(numbers[i]);
    if (known) open && times[i] - times[i - 1] <= GAP * step ? found.at(-1).push(i) : found.push([i]);
    open = known;
  }
  return found;
}

function drawing(width) {
  const plot = svg(document.createDocumentFragment(), "svg", { role: "img", "aria-labelledby": "chosen", tabindex: 0, width });
  plot.classList.toggle("dense", shown.last - shown.first > width / 2);
  const right = width - RIGHT, start = times[shown.first], time = times[shown.last] - start;
  const half = Math.max(1.5, (right - LEFT) / (shown.last - shown.first + 1) / 2), inset = Math.max(INSET, half);  // of a window
  const along = (moment) => (time ? LEFT + inset + ((moment - start) / time) * (right - LEFT - 2 * inset) : (LEFT + right) / 2);
  const x = (i) => along(times[i]);
  const fitting = (words) => (words.length * LETTER > width ? words.slice(0, width / LETTER - 1) + "…" : words);
  let top = 0;

  function panel(title, height, low, high, most) {
    if (!(high > low)) [low, high] = [low - (Math.abs(low) || 1) / 10, high + (Math.abs(high) || 1) / 10];
    svg(plot, "text", { x: 0, y: top + 12, class: "title" }, fitting(title));
    const head = top + 27, foot = head + height;
    const y = (number) => foot - ((Math.min(Math.max(number, low), high) - low) / (high - low)) * height;
    const { found, digits } = ticks(low, high, most);
    for (const tick of found) {
      svg(plot, "line", { x1: LEFT, x2: right, y1: y(tick), y2: y(tick), class: "grid" });
      const label = Math.abs(tick) >= 1e4 ? new Intl.NumberFormat("en", { notation: "compact" }).format(tick) : (tick + 0).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
      svg(plot, "text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, label);
    }
    top = foot + 14;
    return { y, head, foot };
  }

  function line({ y }, numbers, kind) {
    const paths = pieces(numbers).map((own) => own.map((i, k) => `${k ? "L" : "M"}${x(i).toFixed(1)} ${y(numbers[i]).toFixed(1)}`).join(""));
    svg(plot, "path", { class: kind, d: paths.map((path) => (path.includes("L") ? path : path + "h0.01")).join("") });
  }

  function band({ y }, low, high, kind) {
    const both = low.map((number, i) => number + high[i]);
    const paths = pieces(both).map((own) => {
      const edge = (numbers, order) => order.map((i) => `${x(i).toFixed(1)} ${y(numbers[i]).toFixed(1)}`).join("L");
      return `M${edge(low, own)}L${edge(high, [...own].reverse())}Z`;
    });
    svg(plot, "path", { class: kind, d: paths.join("") });
  }

  function bars({ y, foot }, numbers, kind) {
    const wide = Math.max(0.6, Math.min(2 * INSET, ((right - LEFT) / (shown.last - shown.first + 1)) * 0.8));
    const rects = pieces(numbers).flat().map((i) => `M${(x(i) - wide / 2).toFixed(1)} ${foot}V${y(numbers[i]).toFixed(1)}h${wide.toFixed(1)}V${foot}Z`);
    svg(plot, "path", { class: kind, d: rects.join("") });
  }

  function strip(rule, runs) {
    svg(svg(plot, "text", { x: 0, y: top + 12, class: "title" }, fitting(rule)), "title", {}, rule);
    svg(plot, "rect", { x: LEFT, y: top + 19, width: right - LEFT, height: 8, rx: 2, class: "track" });
    for (const run of runs) svg(plot, "rect", { ...across(run), y: top + 19, height: 8, class: "breached" });
    top += 41;
  }

  // From the start of the first window of a breach to the end of its last one.
  function across([first, end]) {
    const begin = Math.max(LEFT, x(first) - half);
    return { x: begin, width: Math.min(right, x(end) + half) - begin };
  }

  function shade({ head, foot }, run) {
    svg(plot, "rect", { ...across(run), y: head, height: foot - head, class: "alarmed" });
  }

  function axis() {
    for (const [moment, label] of timeTicks(Math.max(2, (right - LEFT) / 85))) {
      const place = along(moment);
      plot.prepend(svg(plot, "line", { x1: place, x2: place, y1: 20, y2: top, class: "grid" }));
      svg(plot, "text", { x: Math.min(place, right - 22), y: top + 13, "text-anchor": "middle" }, label);
    }
    plot.setAttribute("height", top + 20);
    plot.setAttribute("viewBox", `0 0 ${width} ${top + 20}`);
  }
  return { plot, x, panel, line, band, bars, strip, shade, axis, height: () => top };
}

const chosen = () => ({ measure: page.metrics[Number(metric.value)], place: Number(segment.value) });
const seen = (numbers) => [...numbers.slice(shown.first, shown.last + 1)].filter((number) => !Number.isNaN(number));
const limited = (measure, place) => page.rules.filter((rule) => rule.segments.includes(place) && rule.metric === measure.name);

// Breaches of a rule in a segment, as far as they are shown.
const breaches = (rule, place) => rule.runs.filter(([own, first, end]) => own === place && first <= shown.last && end >= shown.first)
  .map(([, first, end]) => [Math.max(first, shown.first), Math.min(end, shown.last)]);

// From the lowest to the highest number. The widest tenth of the intervals can be cut off, at 1.5 times the width of the others.
function extent(own, limits) {
  const ends = own.ends.flatMap((end) => {
    const sizes = end.map((number, i) => number - own.value[i]), sorted = seen(sizes.map(Math.abs)).sort((a, b) => a - b);
    const most = 1.5 * sorted[Math.floor(sorted.length * 0.9)];
    return seen(sizes.map((size, i) => own.value[i] + Math.max(-most, Math.min(most, size))));
  });
  const all = [...seen(own.value), ...limits, ...ends];
  const low = all.reduce((a, b) => Math.min(a, b), Infinity), high = all.reduce((a, b) => Math.max(a, b), -Infinity);
  const room = (high - low) * 0.04;
  return all.length ? [low - room, high + room] : [0, 1];
}

let drawn = 0;
async function draw() {
  const turn = ++drawn, { measure, place } = chosen(), total = names.indexOf("All rows");
  const wanted = [[measure, place], [measure, total], [page.rows, place], [page.scored, place], [page.drift, place], [page.dropped, place]];
  const [own, all, rows, scored, drift, dropped] = await Promise.all(wanted.map(([one, at]) => (at < 0 ? null : series(one, at))));
  if (turn !== drawn) return;
  const rules = page.rules.filter((rule) => rule.segments.includes(place)), limits = limited(measure, place);
  const chart = drawing(Math.max(280, element("chart").clientWidth));

  const main = chart.panel(measure.name, 230, ...extent(own, limits.map((rule) => rule.limit)), 5);
  for (const rule of limits) for (const run of breaches(rule, place)) chart.shade(main, run);
  chart.band(main, own.ends[0], own.ends[1], "sampled");
  chart.band(main, own.lower, own.upper, "certain");
  for (const rule of limits) chart.line(main, own.value.map(() => rule.limit), "limit");
  chart.line(main, own.value, "value");
  if (all && place !== total) chart.line(main, all.value, "total");
  for (const rule of limits) {
    for (const [first, end] of breaches(rule, place)) chart.line(main, own.value.map((number, i) => (i < first || i > end ? NaN : number)), "breach");
  }
  for (const rule of rules) chart.strip(rule.text, breaches(rule, place));
  const whole = scored ? scored.value : dropped ? rows.value.map((n, i) => n + dropped.value[i]) : rows.value;
  const title = scored ? "rows, dark with labels" : dropped ? "rows, light dropped" : "rows";
  const volume = chart.panel(title, 56, 0, Math.max(1, ...seen(whole)), 3);
  if (whole !== rows.value) chart.bars(volume, whole, "waiting");
  chart.bars(volume, rows.value, "bars");
  let chance = null, raised = false; // above the axis of the chart by 2 pixels
  if (drift) {
    const base = page.reference_rows[place], counted = scored ?? rows;
    if (base) chance = counted.value.map((n) => (n ? (BINS - 1) * (1 / n + 1 / base) : NaN));
    const highest = Math.max(0.3, ...seen(drift.value));
    raised = chance !== null && seen(chance).some((number) => number > highest / 38);
    const psi = chart.panel(`PSI of ${page.drift.name} against ${page.reference}`, 76, 0, highest, 3);
    if (chance) chart.line(psi, chance, "chance");
    chart.band(psi, drift.lower, drift.upper, "certain");
    chart.line(psi, drift.value, "value");
  }
  chart.axis();
  element("chart").replaceChildren(chart.plot);
  element("chosen").textContent = `${measure.name}: ${segment.selectedOptions[0].dataset.name}`;
  element("what").textContent = measure.what;
  const breached = rules.some((rule) => breaches(rule, place).length);
  legend(own, limits, all && place !== total, breached, raised);
  list();
  follow(chart, { measure, own, rows, scored, drift, dropped });
}

function legend(own, limits, total, breached, chance) {
  const list = element("legend"), box = { x: 0, y: 1, width: 26, height: 10 }, mark = { x1: 2, x2: 24, y1: 6, y2: 6 };
  list.replaceChildren();
  const item = (tag, attributes, text) => svg(svg(html(list, "li", ""), "svg", { viewBox: "0 0 26 12" }), tag, attributes).parentNode.after(text);
  item("line", { ...mark, class: "value" }, "value");
  if (own.upper.some((upper, i) => upper > own.lower[i])) item("rect", { ...box, class: "certain" }, "certified bounds");
  if (seen(own.ends[0]).length) item("rect", { ...box, class: "sampled" }, `${page.confidence} confidence interval`);
  if (total) item("line", { ...mark, class: "total" }, "all rows");
  if (limits.length) item("line", { ...mark, class: "limit" }, "limit of a rule");
  if (breached) item("line", { ...mark, class: "breach" }, "breach");
  if (chance) item("line", { ...mark, class: "chance" }, "PSI by chance");
}

// What stands below the cursor, in words.
function tell(i, { measure, own, rows, scored, drift, dropped }) {
  const round = (number, digits) => number.toLocaleString("en", { minimumFractionDigits: Math.min(digits, 12), maximumFractionDigits: Math.min(digits, 12) });
  const parts = [], known = !Number.isNaN(own.value[i]);
  parts.push(`${measure.name} ${known ? round(own.value[i], own.digits) : "undefined"}`);
  if (known && own.upper[i] > own.lower[i]) parts.push(`certified ${round(own.lower[i], own.digits)} to ${round(own.upper[i], own.digits)}`);
  if (!Number.isNaN(own.ends[0][i])) parts.push(`interval ${own.ends.map((end) => round(end[i], own.digits)).join(" to ")}`);
  const n = rows.value[i] || 0, expected = scored ? scored.value[i] : NaN;
  parts.push(expected ? `${n.toLocaleString("en")} of ${expected.toLocaleString("en")} rows with labels (${Math.round((100 * n) / expected)}%)` : `${n.toLocaleString("en")} rows`);
  if (dropped && dropped.value[i]) parts.push(`${dropped.value[i].toLocaleString("en")} dropped`);
  if (drift && !Number.isNaN(drift.value[i])) parts.push(`PSI ${drift.value[i].toFixed(3)}`);
  element("readout").textContent = `${page.windows[i].replace("T", " ")}: ${parts.join(" · ")}`;
}

// The cursor: moved by the pointer and the arrow keys; dragging chooses a range.
function follow(chart, told) {
  const { plot, x } = chart, cursor = svg(plot, "line", { y1: 20, y2: chart.height(), class: "cursor" });
  const span = svg(plot, "rect", { y: 20, height: chart.height() - 20, class: "span", width: 0 });
  let start = null;
  function move(i) {
    shown.at = Math.min(Math.max(i, shown.first), shown.last);
    cursor.setAttribute("x1", x(shown.at));
    cursor.setAttribute("x2", x(shown.at));
    tell(shown.at, told);
  }
  function nearest(event) {
    const place = event.clientX - plot.getBoundingClientRect().left;
    let low = shown.first, high = shown.last;
    while (high - low > 1) x((low + high) >> 1) < place ? (low = (low + high) >> 1) : (high = (low + high) >> 1);
    return place - x(low) < x(high) - place ? low : high;
  }
  plot.addEventListener("pointermove", (event) => {
    move(nearest(event));
    if (start === null) return;
    const [a, b] = [x(start), x(shown.at)].sort((one, other) => one - other);
    span.setAttribute("x", a);
    span.setAttribute("width", b - a);
  });
  plot.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch") start = nearest(event);
    move(nearest(event));
  });
  plot.addEventListener("pointerup", () => {
    const range = start === null || start === shown.at ? null : [start, shown.at].sort((a, b) => a - b);
    start = null;
    span.setAttribute("width", 0);
    if (range) choose(...range);
  });
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) { event.preventDefault(); move(shown.at + step); }
  });
  move(shown.at ?? pieces(told.own.value).at(-1)?.at(-1) ?? shown.last);
}

// The latest breaches of all segments that begin or go on in the shown windows.
function list() {
  const body = element("breaches").querySelector("tbody"), found = [];
  for (const rule of page.rules) for (const [place, first, end] of rule.runs) if (first <= shown.last && end >= shown.first) found.push({ rule, place, first, end });
  found.sort((a, b) => b.end - a.end || b.first - a.first);
  body.replaceChildren();
  for (const { rule, place, first, end } of found.slice(0, 200)) {
    const row = html(body, "tr", "");
    html(html(row, "td", ""), "button", segment.options[place].dataset.name, { type: "button" }).addEventListener("click", () => {
      segment.value = place;
      const own = page.metrics.findIndex((measure) => measure.name === rule.metric);
      if (own >= 0) metric.value = own;
      shown.at = first;
      element("chosen").scrollIntoView({ block: "nearest" });
      draw();
    });
    html(row, "td", page.windows[first].replace("T", " "));
    html(row, "td", page.windows[end].replace("T", " ") + (end === last ? " (latest window)" : ""));
    html(row, "td", rule.text);
  }
  element("none").hidden = found.length > 0;
  element("breaches").querySelector(".scroll").hidden = !found.length;
}

function choose(first, end) {
  [shown.first, shown.last] = [Math.max(0, first), Math.min(last, end)];
  [from.value, to.value] = [page.windows[shown.first], page.windows[shown.last]];
  draw();
}

function typed() {
  const [low, high] = [from, to].map((field) => Date.parse(field.value.length > 10 ? field.value + "Z" : field.value));
  const first = times.findIndex((time) => time >= low), end = times.findLastIndex((time) => time <= high);
  if (first >= 0 && first <= end) [shown.first, shown.last] = [first, end];
  draw();
}

// Each column of a segment with its value.
function called(group, name) {
  const columns = group.split(", "), values = name.split(" · ");
  const pairs = columns.length === values.length ? columns.map((column, i) => `${column} ${values[i]}`) : [`${group} ${name}`];
  return group ? pairs.join(", ") : name;
}

page.metrics.forEach((measure, i) => html(metric, "option", measure.name, { value: i }));
let number = 0;
for (const [group, own] of page.segments) {
  const parent = group ? html(segment, "optgroup", "", { label: group }) : segment;
  for (const name of own) html(parent, "option", name, { value: number++ }).dataset.name = called(group, name);
}
for (const field of [from, to]) {
  field.type = page.windows[0].length > 10 ? "datetime-local" : "date";
  [field.min, field.max] = [page.windows[0], page.windows[last]];
  field.addEventListener("change", typed);
}
for (const field of [metric, segment]) field.addEventListener("change", draw);
for (const button of document.querySelectorAll("[data-days]")) {
  const first = times.findIndex((time) => time > times[last] - Number(button.dataset.days) * 864e5);
  button.hidden = first < 1 || last - first < 3; // all windows, or too few
  button.addEventListener("click", () => choose(first, last));
}
element("all").addEventListener("click", () => choose(0, last));
const lead = [[times.length.toLocaleString("en"), ` windows (${page.window}) from `, page.windows[0].replace("T", " "), " to ", page.windows[last].replace("T", " ")],
  [names.length.toLocaleString("en"), names.length === 1 ? " segment" : " segments"]];
if (page.rules.length) lead.push([page.rules.length, page.rules.length === 1 ? " rule" : " rules"]);
for (const [count, ...words] of lead) {
  const item = html(element("lead"), "li", "");
  html(item, "strong", count);
  words.forEach((word, i) => html(item, "span", word, i % 2 ? { className: "time" } : {}));
}
const notes = ["Certified bounds are proven to contain the metric of the evaluated rows. Without a band of certified bounds, the value is exact.",
  "Drag over the chart to show a shorter time range. With the keyboard, focus the chart and use the arrow keys."];
if (page.confidence) notes.splice(1, 0, `The confidence interval (${page.confidence}) estimates the metric for all rows of which these are a random sample. Values are rounded to a small part of its width.`);
if (page.rules.length) notes.push("A rule is breached in a window if a check at the end of the window finds a breach. Breached windows are shaded.");
if (page.scored) notes.push("Rows without labels are light.");
if (page.dropped) notes.push("Dropped rows are light: they have a null or NaN in a required column, such as a missing label.");
if (page.drift) notes.push(`PSI compares the distribution of ${page.drift.name} with ${page.reference}. Below 0.1 counts as stable, above 0.25 as shifted. Without drift, sampling alone gives values near the dotted line.`);
for (const note of notes) html(element("notes"), "li", note);
element("breaches").hidden = !page.rules.length;
let width = 0;
new ResizeObserver(([box]) => {
  if (Math.abs(box.contentRect.width - width) < 1) return;
  width = box.contentRect.width;
  draw();
}).observe(element("chart"));
choose(0, last);
