#include "report/page_parts.h"

namespace trainyard::report {

// The root element's data-charts counts the charts drawn and data-problem keeps the first error: a person
// sees it, and so does a test.
const char* const kPageScript = R"js('use strict';
function report_problem(text) {
  const root = document.documentElement, line = document.getElementById('problem');
  if (!root.dataset.problem) root.dataset.problem = text;
  line.textContent = 'A chart could not be drawn: ' + text;
  line.hidden = false;
}
addEventListener('error', event => report_problem(event.message));
addEventListener('unhandledrejection', event => report_problem(String(event.reason)));

const figures = [...document.querySelectorAll('figure[data-chart]')].map(element => ({
  element,
  id: element.dataset.chart,
  plot: element.querySelector('.plot'),
  spec: JSON.parse(element.querySelector('script').textContent),
  width: 0,
  view: null
}));

// Vega-Lite warns that layers which filter one table may come from different tables.
const options = {renderer: 'svg', actions: false, logLevel: vega.Error};

async function draw(figure) {
  const width = figure.plot.clientWidth;
  if (width === figure.width) return;
  figure.width = width;
  if (figure.view) figure.view.finalize();
  const result = await vegaEmbed(figure.plot, fit_spec(figure.spec, width), options);
  figure.view = result.view;
}

async function draw_all() {
  let drawn = 0;
  for (const figure of figures) {
    try {
      await draw(figure);
      ++drawn;
    } catch (error) {
      report_problem(figure.id + ': ' + error.message);
    }
  }
  document.documentElement.dataset.charts = drawn;
}

async function save(figure, format) {
  const link = document.createElement('a');
  link.href = await figure.view.toImageURL(format, 2);
  link.download = figure.id + '.' + format;
  link.click();
}

for (const figure of figures)
  for (const button of figure.element.querySelectorAll('[data-save]'))
    button.addEventListener('click', () => save(figure, button.dataset.save));

function sort_table(table, column) {
  const key = row => row.cells[column].dataset.value ?? row.cells[column].textContent;
  const less = (a, b) => (isNaN(key(a)) || isNaN(key(b)) ? key(a).localeCompare(key(b)) : key(a) - key(b));
  const rows = [...table.tBodies[0].rows], heads = [...table.tHead.rows[0].cells];
  const down = heads[column].getAttribute('aria-sort') === 'ascending';
  for (const head of heads) head.removeAttribute('aria-sort');
  heads[column].setAttribute('aria-sort', down ? 'descending' : 'ascending');
  rows.sort((a, b) => (down ? less(b, a) : less(a, b)));
  table.tBodies[0].append(...rows);
}

for (const table of document.querySelectorAll('table.sortable'))
  [...table.tHead.rows[0].cells].forEach((head, column) =>
    head.addEventListener('click', () => sort_table(table, column)));

let waiting = 0;
addEventListener('resize', () => {
  clearTimeout(waiting);
  waiting = setTimeout(draw_all, 200);
});
draw_all();
)js";

}  // namespace trainyard::report
