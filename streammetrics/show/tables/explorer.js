"use strict";
const COLORS = { precision: "#0072B2", recall: "#D55E00", f1: "#009E73" }; // of the chart
const SCALES = {
  linear: (value) => value,
  sqrt: (value) => Math.sqrt(Math.max(value, 0)),
  log: (value) => Math.log10(Math.max(value, Number.MIN_VALUE)),
};

const THRESHOLDS = { inf: Infinity, "-inf": -Infinity }; // that JSON has no numbers for

// Numbers as text, as decimals.py writes them.
const Numbers = {
  // Ties are rounded to even digits, as in Python.
  fixed(value, decimals) {
    const exact = value.toFixed(60);
    const end = exact.length - 60 + decimals;
    const below = exact.slice(0, end).replace(/\.$/, "");
    const isTie = /^50*$/.test(exact.slice(end));
    return isTie && /[02468]$/.test(below) ? below : value.toFixed(decimals);
  },

  general(value, digits) {
    const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
    const power = Number(exponent);
    if (power >= -4 && power < digits) return trimmed(Numbers.fixed(value, digits - 1 - power));
    return `${trimmed(mantissa)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  },

  amount(count) {
    if (count < 100) return Numbers.general(count, 4);
    return Numbers.fixed(count, 0).replace(/\B(?=(\d{3})+$)/g, ",");
  },

  percentage(share) {
    if (share === null) return "–";
    const distance = 100 * Math.min(Math.abs(share), Math.abs(1 - share));
    if (distance <= 1e-9) return `${100 * Math.round(share)}%`;
    const decimals = distance >= 0.01 * (1 - 1e-9) ? 2 : Math.min(12, 1 - Math.floor(Math.log10(distance) + 1e-9));
    return `${Numbers.fixed(100 * share, decimals)}%`;
  },

  // More digits near 1, so that a threshold does not read as 1.
  cutoff(threshold, digits = 4) {
    if (threshold === Infinity) return "none positive";
    for (; digits < 17; digits++) {
      const text = Numbers.general(threshold, digits);
      const [one, other] = [1 - Number(text), 1 - threshold];
      if (Math.abs(one - other) <= 0.1 * Math.max(Math.abs(one), Math.abs(other))) return text.replaceAll("-", "−");
    }
    return String(threshold).replaceAll("-", "−");
  },
};

// The thresholds of a model or label, from the lowest up, and what each of them does.
class Thresholds {
  constructor(series) {
    Object.assign(this, series);
    this.points = this.points.map(([threshold, ...counts]) => [THRESHOLDS[threshold] ?? threshold, ...counts]);
    const scale = SCALES[this.axis.type];
    const [low, high] = this.axis.domain.map(scale);
    this.along = this.points.map(([threshold]) => Math.min(Math.max((scale(threshold) - low) / (high - low), 0), 1));
  }

  // Counts and metrics at a point. A metric is null for 0/0.
  at(i) {
    const [threshold, positive, tp] = this.points[i];
    const without = (total, part) => (total - part > 1e-12 * total ? total - part : 0); // sums of weights are rounded
    const ratio = (part, total) => (total ? part / total : null);
    const fp = without(positive, tp);
    const fn = without(this.positives, tp);
    const tn = without(this.rows - this.positives, fp);
    const precision = ratio(tp, positive);
    const lift = precision === null ? null : precision / (this.positives / this.rows);
    const f1 = ratio(2 * tp, this.positives + positive);
    return { threshold, tp, fp, fn, tn, precision, recall: ratio(tp, this.positives), f1, lift, predicted: positive / this.rows };
  }

  // The point closest to a place along the axis.
  nearest(place) {
    const distances = this.along.map((other) => Math.abs(other - place));
    return distances.indexOf(Math.min(...distances));
  }

  csv() {
    const columns = ["threshold", "tp", "fp", "fn", "tn", "precision", "recall", "f1", "lift"];
    const points = this.points.map((_, i) => this.at(i));
    const lines = points.map((point) => [literal(point.threshold), ...columns.slice(1).map((column) => point[column] ?? "")]);
    return [columns, ...lines].map((line) => line.join(",") + "\n").join("");
  }

  python(i) {
    const threshold = this.points[i][0];
    const number = Number.isFinite(threshold) ? literal(threshold) : `float("${literal(threshold)}")`;
    const values = ["precision", "recall"].map((metric) => `total.get("${metric}", threshold=${number}${this.arguments})`);
    return `total = report.rollup()\n${values.join(", ")}`;
  }

  command(i) {
    const threshold = literal(this.points[i][0]);
    return `streammetrics show evaluation.state --total${this.options} --threshold=${threshold} --metric precision --metric recall`;
  }
}

// The chart of a model or label, with a line and dots at the threshold, and a line at the pointer.
class Chart {
  constructor(figure, thresholds) {
    this.figure = figure;
    this.thresholds = thresholds;
    this.plot = figure.querySelector("svg > g");
    const area = figure.querySelector("clipPath rect");
    this.width = Number(area.getAttribute("width"));
    this.height = Number(area.getAttribute("height"));
    this.pointer = this.add("line", { y2: this.height, stroke: "#70767f", visibility: "hidden" });
    this.line = this.add("line", { y2: this.height, stroke: "#16191d" });
    this.dots = Object.entries(COLORS).map(([metric, fill]) => [metric, this.add("circle", { r: 4, fill, stroke: "#ffffff" })]);
    this.surface = this.add("rect", { width: this.width, height: this.height, fill: "none", "pointer-events": "all" });
  }

  add(tag, attributes) {
    const mark = document.createElementNS(this.plot.namespaceURI, tag);
    for (const [name, value] of Object.entries(attributes)) mark.setAttribute(name, value);
    this.plot.append(mark);
    return mark;
  }

  // Call `hover` with the point at the pointer, or null beside the chart, and `select` with one that is clicked.
  listen(hover, select) {
    const nearest = (event) => {
      const box = this.surface.getBoundingClientRect();
      return this.thresholds.nearest((event.clientX - box.left) / box.width);
    };
    this.surface.addEventListener("pointermove", (event) => hover(nearest(event)));
    this.surface.addEventListener("pointerleave", () => hover(null));
    this.surface.addEventListener("click", (event) => select(nearest(event)));
  }

  point(i) {
    this.pointer.setAttribute("visibility", i === null ? "hidden" : "visible");
    if (i !== null) this.move(this.pointer, i);
  }

  move(line, i) {
    for (const end of ["x1", "x2"]) line.setAttribute(end, this.width * this.thresholds.along[i]);
  }

  draw(i) {
    const point = this.thresholds.at(i);
    this.move(this.line, i);
    for (const [metric, dot] of this.dots) {
      dot.setAttribute("cx", this.width * this.thresholds.along[i]);
      dot.setAttribute("cy", this.height * (1 - point[metric]));
      dot.setAttribute("visibility", point[metric] === null ? "hidden" : "visible");
    }
  }
}

class Explorer {
  constructor(root) {
    this.root = root;
    const { unit, choices, series } = JSON.parse(this.find("script").textContent);
    const figures = root.querySelectorAll("figure");
    this.unit = unit;
    this.choices = choices;
    this.series = series.map((each) => new Thresholds(each));
    this.charts = this.series.map((thresholds, i) => new Chart(figures[i], thresholds));
    for (const chart of this.charts) {
      chart.listen((i) => this.hover(i), (i) => this.move(i));
    }
    this.slider = this.find("[type=range]");
    this.slider.addEventListener("input", () => this.move(Number(this.slider.value)));
    const select = this.find("select");
    select.append(...this.series.map(({ name }) => new Option(name)));
    select.addEventListener("change", () => this.show(select.selectedIndex));
    for (const button of root.querySelectorAll("[data-copy]")) button.addEventListener("click", () => this.copy(button.dataset.copy));
    this.find("[data-download]").addEventListener("click", () => this.download());
    window.addEventListener("beforeprint", () => this.draw(this.start));
    window.addEventListener("afterprint", () => this.draw(this.index));
    for (const part of root.querySelectorAll(".controls, .outcome")) part.hidden = false;
    root.nextElementSibling.open = false; // the table is for readers without scripts, and for paper
    this.show(0);
  }

  find(selector) {
    return this.root.querySelector(selector);
  }

  write(selector, text) {
    this.find(selector).textContent = text;
  }

  // Explore a model or label, from its first candidate on, which is a threshold of the report if it has any.
  show(i) {
    this.thresholds = this.series[i];
    this.chart = this.charts[i];
    for (const chart of this.charts) chart.figure.hidden = chart !== this.chart;
    this.slider.max = this.thresholds.points.length - 1;
    this.find("[data-copy=command]").hidden = this.thresholds.options === null;
    const groups = new Map();
    for (const [choice, point] of this.thresholds.places) {
      const [kind, text, title] = this.choices[choice];
      if (!groups.has(kind)) groups.set(kind, group(kind));
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: text, title });
      button.dataset.point = point;
      button.addEventListener("click", () => this.move(point));
      groups.get(kind).append(button);
    }
    this.find(".choices").replaceChildren(...groups.values());
    this.start = this.thresholds.places[0][1];
    this.move(this.start);
  }

  move(i) {
    this.index = i;
    this.slider.value = i;
    this.find(".copied").hidden = true;
    this.draw(i);
  }

  draw(i) {
    const point = this.thresholds.at(i);
    const threshold = Numbers.cutoff(point.threshold);
    const sentence = this.sentence(point);
    this.write("output", threshold);
    this.slider.setAttribute("aria-valuetext", `${threshold}. ${sentence}`);
    this.write(".sentence", sentence);
    this.write(".odds", this.odds(point));
    this.write("[data-metric=precision]", Numbers.percentage(point.precision));
    this.write("[data-metric=recall]", Numbers.percentage(point.recall));
    this.write("[data-metric=lift]", point.lift === null ? "–" : `${Numbers.fixed(point.lift, 2)}×`);
    for (const cell of ["tp", "fp", "fn", "tn"]) {
      this.write(`[data-count=${cell}]`, Numbers.amount(point[cell]));
      this.write(`[data-share=${cell}]`, Numbers.percentage(point[cell] / this.thresholds.rows));
    }
    for (const button of this.root.querySelectorAll("[data-point]")) {
      button.setAttribute("aria-pressed", Number(button.dataset.point) === i);
    }
    this.chart.draw(i);
    this.read(i);
  }

  sentence({ predicted, recall }) {
    const positives = this.unit === "rows" ? "positives" : `${this.unit} of the positives`;
    return `Acts on ${Numbers.percentage(predicted)} of the ${this.unit} and reaches ${Numbers.percentage(recall)} of the ${positives}.`;
  }

  odds({ precision }) {
    if (precision === null) return "No row is predicted positive.";
    const { positives, rows } = this.thresholds;
    return `Positive: ${rate(precision)} of these, and ${rate(positives / rows)} of all ${this.unit}.`;
  }

  hover(i) {
    this.chart.point(i);
    this.read(i ?? this.index);
  }

  // The values of the curves at a point.
  read(i) {
    const { threshold, precision, recall, f1 } = this.thresholds.at(i);
    const [p, r, f] = [precision, recall, f1].map(Numbers.percentage);
    this.write(".readout", `At ${Numbers.cutoff(threshold)}: precision ${p}, recall ${r}, F1 ${f}`);
  }

  async copy(kind) {
    const field = this.find("textarea");
    field.value = this.thresholds[kind](this.index);
    this.find(".copied").hidden = false;
    let isCopied = true;
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      field.select();
      isCopied = document.execCommand("copy");
    }
    this.write(".copied label", isCopied ? "Copied" : "Copy this text");
  }

  download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([this.thresholds.csv()], { type: "text/csv" }));
    link.download = "thresholds.csv";
    link.click();
  }
}

// A group of buttons after its name.
function group(name) {
  const element = document.createElement("div");
  element.setAttribute("role", "group");
  element.setAttribute("aria-label", name);
  element.append(Object.assign(document.createElement("span"), { textContent: name }));
  return element;
}

// A threshold as Python reads it.
function literal(threshold) {
  return Number.isFinite(threshold) ? String(threshold) : threshold > 0 ? "inf" : "-inf";
}

// A share as odds.
function rate(share) {
  if (share === 0) return "none";
  if (share >= 0.5) return `${Numbers.fixed(10 * share, 1)} in 10`;
  return `1 in ${share > 0.1 ? Numbers.fixed(1 / share, 1) : Numbers.amount(Math.round(1 / share))}`;
}

for (const root of document.querySelectorAll(".explorer")) new Explorer(root);
