"use strict";
const AT_ONCE = 200; // rows; of more, those in sight are in the document
const PROSE = 34; // characters from which a text can be wrapped, as in tables.py
const FEW = 8; // rows that need no filter
const AROUND = 40; // rows before and after those in sight

for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const box = table.parentElement;
  const heads = [...table.tHead.rows[0].cells];
  const more = JSON.parse(box.querySelector("script")?.textContent ?? "[]");
  const made = [...body.rows];
  const rows = [...made.map((row) => [...row.cells].map(read)), ...more];
  const height = made[0]?.offsetHeight || 40;
  let order = rows.map((_, i) => i);
  let view = order;
  let first = null;
  let printed = false;
  table.setAttribute("aria-rowcount", rows.length + 1);

  function row(i) {
    made[i] ??= build(rows[i]);
    made[i].setAttribute("aria-rowindex", i + 2);
    return made[i];
  }

  function draw() {
    if (printed || view.length <= AT_ONCE) {
      first = null;
      body.replaceChildren(...view.map(row));
      return;
    }
    const sight = Math.ceil(box.clientHeight / height) + 2 * AROUND;
    const start = Math.max(0, Math.min(view.length - sight, Math.floor(box.scrollTop / height) - AROUND));
    if (first !== null && Math.abs(start - first) < AROUND / 2) return;
    first = start;
    const shown = view.slice(start, start + sight);
    const rest = view.length - start - shown.length;
    body.replaceChildren(space(start * height), ...shown.map(row), space(rest * height));
  }

  function redraw() {
    first = null;
    draw();
  }

  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      const keys = rows.map((cells) => key(cells[column]));
      order = rows.map((_, i) => i).sort((a, b) => compared(keys[a], keys[b], sign));
      filter();
    });
  });

  const field = box.previousElementSibling?.matches(".filter") && box.previousElementSibling.querySelector("input");
  const words = rows.map((cells) => cells.filter((cell) => cell[1] === null || cell[3]).map((cell) => cell[0]).join(" ").toLowerCase());
  function filter() {
    const wanted = field ? field.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
    view = order.filter((i) => wanted.every((word) => words[i].includes(word)));
    if (field) box.previousElementSibling.querySelector("output").textContent = view.length + " of " + rows.length;
    redraw();
  }
  if (field) {
    field.addEventListener("input", filter);
    box.previousElementSibling.hidden = rows.length < FEW;
  }
  filter();
  box.addEventListener("scroll", draw);
  window.addEventListener("beforeprint", () => {
    printed = true; // a scroll event can still come
    draw();
  });
  window.addEventListener("afterprint", () => {
    printed = false;
    redraw();
  });
}

// The specification is on paper too.
for (const folded of document.querySelectorAll("details:not([open])")) {
  window.addEventListener("beforeprint", () => (folded.open = true));
  window.addEventListener("afterprint", () => (folded.open = false));
}

// A cell as [text, number, text below, whether it is a head], as those that are not in the document are written.
function read(cell) {
  const below = cell.querySelector("small")?.textContent ?? "";
  const text = cell.textContent.slice(0, cell.textContent.length - below.length);
  return [text, cell.dataset.v === undefined ? null : Number(cell.dataset.v), below, cell.tagName === "TH"];
}

function build(cells) {
  const row = document.createElement("tr");
  for (const [text, number, below, head] of cells) {
    const cell = document.createElement(head ? "th" : "td");
    if (head) cell.scope = "row";
    if (text.length > PROSE) cell.className = "prose";
    if (text === "–") cell.className = "n";
    if (number !== null) cell.dataset.v = number;
    cell.textContent = text;
    if (below) cell.append(Object.assign(document.createElement("small"), { textContent: below }));
    row.append(cell);
  }
  return row;
}

// In the place of rows that are out of sight.
function space(height) {
  const row = document.createElement("tr");
  row.className = "space";
  row.setAttribute("aria-hidden", "true");
  row.style.height = height + "px";
  return row;
}

// A number where a cell has one, else its text; nothing for what is undefined.
function key([text, number]) {
  return number ?? (text === "" || text === "–" ? null : text);
}

// What is undefined comes last, whichever way the rest is sorted.
function compared(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * String(a).localeCompare(String(b), undefined, { numeric: true });
}
