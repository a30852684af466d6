"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const keys = rows.map((row) => [...row.cells].map(key));
  const place = new Map(rows.map((row, i) => [row, i]));

  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      body.append(...[...rows].sort((a, b) => compared(keys[place.get(a)][column], keys[place.get(b)][column], sign)));
    });
  });

  const box = table.parentElement.previousElementSibling;
  if (!box.matches(".filter")) continue;
  const field = box.querySelector("input");
  const count = box.querySelector("output");
  const words = rows.map((row) => [...row.cells].filter((cell) => cell.tagName === "TH" || !cell.dataset.v)
    .map((cell) => cell.textContent).join(" ").toLowerCase());
  function filter() {
    const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      row.hidden = !wanted.every((word) => words[i].includes(word));
      shown += !row.hidden;
    });
    count.textContent = shown + " of " + rows.length;
  }
  field.addEventListener("input", filter);
  box.hidden = false;
  filter();
}

// A number where a cell has one, else its text; nothing for what is undefined.
function key(cell) {
  if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
  const text = cell.textContent;
  return text === "" || text === "–" ? null : text;
}

// What is undefined comes last, whichever way the rest is sorted.
function compared(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * String(a).localeCompare(String(b), undefined, { numeric: true });
}
