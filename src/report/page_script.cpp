#include "report/page_parts.h"

namespace trainyard::report {

// Runs before anything is painted. A browser may forbid its storage to files.
const char* const kModeScript = R"js('use strict';
const stored_mode = {
  get() { try { return localStorage.getItem('trainyard-theme'); } catch { return null; } },
  set(mode) { try { localStorage.setItem('trainyard-theme', mode); } catch { } }
};
if (['light', 'dark'].includes(stored_mode.get())) document.documentElement.dataset.theme = stored_mode.get();
)js";

// The root element's data-charts counts the charts drawn and data-problem keeps the first error: a person
// sees it, and so does a test. A chart that is folded is drawn when it is opened.
const char* const kPageScript = R"js('use strict';
const root = document.documentElement;
function report_problem(text) {
  const line = document.getElementById('problem');
  if (!root.dataset.problem) root.dataset.problem = text;
  line.textContent = 'A chart could not be drawn: ' + text;
  line.hidden = false;
}
addEventListener('error', event => report_problem(event.message));
addEventListener('unhandledrejection', event => report_problem(String(event.reason)));

const system_dark = matchMedia('(prefers-color-scheme: dark)');
const mode_now = () => root.dataset.theme || (system_dark.matches ? 'dark' : 'light');

const figures = [...document.querySelectorAll('figure[data-chart]')].map(element => ({
  element,
  id: element.dataset.chart,
  plot: element.querySelector('.plot'),
  fold: element.closest('details'),
  spec: null,
  drawn: '',
  view: null
}));

async function draw(figure) {
  const width = figure.plot.clientWidth, mode = mode_now(), wanted = width + mode;
  if (width === 0 || wanted === figure.drawn) return;
  figure.drawn = wanted;
  figure.spec ??= JSON.parse(figure.element.querySelector('script').textContent);
  if (figure.view) figure.view.finalize();
  // Vega-Lite warns that layers which filter one table may come from different tables.
  const options = {renderer: 'svg', actions: false, logLevel: vega.Error, tooltip: {theme: mode}};
  const result = await vegaEmbed(figure.plot, fit_spec(figure.spec, width, mode), options);
  figure.view = result.view;
}

async function draw_all() {
  for (const figure of figures) {
    try {
      if (!figure.fold || figure.fold.open) await draw(figure);
    } catch (error) {
      report_problem(figure.id + ': ' + error.message);
    }
  }
  root.dataset.charts = figures.filter(figure => figure.view).length;
}

async function save(figure, format) {
  const link = document.createElement('a');
  link.href = await figure.view.toImageURL(format, 2);
  link.download = figure.id + '.' + format;
  link.click();
}

for (const figure of figures) {
  for (const button of figure.element.querySelectorAll('[data-save]'))
    button.addEventListener('click', () => save(figure, button.dataset.save));
  if (figure.fold) figure.fold.addEventListener('toggle', draw_all);
}

// A link into a folded part opens it.
function open_target() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const fold = target && (target.querySelector(':scope > details') || target.closest('details'));
  if (fold) fold.open = true;
}
addEventListener('hashchange', open_target);
open_target();
addEventListener('beforeprint', () => { for (const figure of figures) if (figure.fold) figure.fold.open = true; });

const number_of = text => (text === '' || text === '-' ? NaN : Number(text));

// Numbers in their order, then words; what is missing stays at the end whichever way.
function sort_table(table, column) {
  const heads = [...table.tHead.rows[0].cells], down = heads[column].getAttribute('aria-sort') === 'ascending';
  const text = row => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
  const before = (a, b) => {
    const [x, y] = [text(a), text(b)], [m, n] = [number_of(x), number_of(y)];
    if ((x === '-') !== (y === '-')) return x === '-' ? 1 : -1;
    if (isNaN(m) !== isNaN(n)) return isNaN(m) ? 1 : -1;
    const order = isNaN(m) ? x.localeCompare(y, 'en', {numeric: true}) : m - n;
    return down ? -order : order;
  };
  for (const head of heads) head.removeAttribute('aria-sort');
  heads[column].setAttribute('aria-sort', down ? 'descending' : 'ascending');
  table.tBodies[0].append(...[...table.tBodies[0].rows].sort(before));
}

for (const table of document.querySelectorAll('table.sortable'))
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'sort';
    button.append(...head.childNodes);
    button.addEventListener('click', () => sort_table(table, column));
    head.append(button);
  });

// Rows that hold every word that was typed.
for (const input of document.querySelectorAll('input[data-filter]')) {
  const rows = [...document.getElementById(input.dataset.filter).tBodies[0].rows];
  const count = input.parentElement.querySelector('output');
  input.addEventListener('input', () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
    }
    count.textContent = words.length ? rows.filter(row => !row.hidden).length + ' of ' + rows.length : '';
  });
  input.parentElement.hidden = false;
}

const mode_button = document.getElementById('mode');
function show_mode() {
  const other = mode_now() === 'dark' ? 'light' : 'dark';
  mode_button.textContent = other === 'dark' ? 'Dark' : 'Light';
  mode_button.setAttribute('aria-label', 'Show the page in ' + other + ' colours');
}
mode_button.addEventListener('click', () => {
  root.dataset.theme = mode_now() === 'dark' ? 'light' : 'dark';
  stored_mode.set(root.dataset.theme);
  show_mode();
  draw_all();
});
system_dark.addEventListener('change', () => { show_mode(); draw_all(); });
mode_button.hidden = false;
show_mode();

let waiting = 0;
addEventListener('resize', () => {
  clearTimeout(waiting);
  waiting = setTimeout(draw_all, 200);
});
draw_all();
)js";

}  // namespace trainyard::report
