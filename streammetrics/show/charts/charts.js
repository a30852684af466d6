"use strict";
// An interpreter of expressions, so that the page need not allow scripts to be made of text.
const options = { mode: "vega-lite", renderer: "svg", ast: true, actions: false, defaultStyle: false };
for (const place of document.querySelectorAll(".vega")) {
  const chart = JSON.parse(place.nextElementSibling.textContent);
  for (const part of chart.vconcat ?? [chart]) part.width = Math.min(400, Math.max(200, place.clientWidth - 76));
  window.vegaEmbed(place, chart, options);
}
