#include "report/page.h"

#include "report/sections.h"
#include "report/spec.h"
#include "report/text.h"

namespace trainyard::report {

namespace {

// Vega compiles its expressions, hence unsafe-eval; nothing may be loaded from anywhere.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: "
    "blob:";

std::string head(const std::string& title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{} - Trainyard</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{}{}</style>\n"
      "<script>\n{}</script>\n</head>\n",
      html_text(kPolicy), html_text(title), palettes_css(), kPageStyle, kModeScript);
}

std::string library_script(const Library& library) {
  return fmt::format("<script>\n/*!\n{} {}\n{}*/\n{}\n</script>\n", library.name, library.version,
                     library.licence, program_in_script(library.script));
}

}  // namespace

std::string frame_page(const std::string& title, const std::string& header, const std::string& sections,
                       const std::vector<Library>& libraries) {
  std::string html = head(title);
  html += "<body>\n<main>\n";
  html += header;
  html += "<noscript><p class=\"problem\">The charts need JavaScript; the tables do not.</p></noscript>\n";
  html += "<p class=\"problem\" id=\"problem\" hidden></p>\n";
  html += sections;
  html += "</main>\n";
  for (const Library& library : libraries) html += library_script(library);
  html += fmt::format("<script>\n{}{}</script>\n</body>\n</html>\n", fit_script(), kPageScript);
  return html;
}

std::string header_html(const Headline& headline) {
  std::string html = fmt::format(
      "<header>\n<div class=\"top\"><p class=\"kicker\">{}</p>"
      "<button type=\"button\" id=\"mode\" hidden></button></div>\n"
      "<h1>{}</h1>\n<p class=\"when\">{}</p>\n<p class=\"summary\">{}</p>\n",
      html_text(headline.kicker), html_text(headline.title), html_text(headline.when),
      html_text(headline.summary));
  if (!headline.common.empty())
    html += fmt::format("<p class=\"common\">Everywhere: <b>{}</b>.</p>\n", html_text(headline.common));
  html += "<div class=\"tiles\">\n";
  for (const Tile& tile : headline.tiles)
    html += fmt::format("<div class=\"tile{}\"><b>{}</b><span>{}</span></div>\n", tile.alarm ? " alarm" : "",
                        html_text(tile.value), html_text(tile.meaning));
  html += "</div>\n";
  if (!headline.links.empty()) {
    html += "<nav aria-label=\"Parts of the page and files\">";
    for (const Link& link : headline.links)
      html += fmt::format("<a href=\"{}\">{}</a>\n", html_text(link.address), html_text(link.text));
    html += "</nav>\n";
  }
  return html + "</header>\n";
}

std::string make_page(const StudyView& view, const std::vector<Chart>& charts,
                      const std::vector<Library>& libraries, double made_seconds) {
  return frame_page(view.name.empty() ? "study" : view.name, header_section(view, made_seconds),
                    completeness_section(view) + results_section(view) + charts_section(charts) +
                        provenance_section(view) + warnings_section(view) + method_section(),
                    libraries);
}

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

// Puts numbers in their order, then words; what is missing stays at the end whichever way.
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

const char* const kPageStyle =
    R"css(* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 12px; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.55 Inter, system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 30px 28px 56px; }
h1 { font-size: 32px; line-height: 1.2; letter-spacing: -0.02em; margin: 2px 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 19px; letter-spacing: -0.01em; margin: 0 0 8px; }
h3 { font-size: 15.5px; line-height: 1.35; margin: 0; overflow-wrap: anywhere; }
p { margin: 0 0 10px; overflow-wrap: anywhere; }
small { color: var(--soft); font-size: 12px; font-weight: 400; }
a { color: var(--brand); text-decoration-thickness: 1px; text-underline-offset: 2px; }
a:focus-visible, button:focus-visible, summary:focus-visible, input:focus-visible, .scroll:focus-visible {
  outline: 2px solid var(--brand); outline-offset: 2px; }
.top { display: flex; justify-content: space-between; align-items: start; gap: 12px; }
.kicker { color: var(--brand); font-size: 12.5px; font-weight: 700; letter-spacing: 0.08em; text-transform: uppercase; margin: 0; }
.when { color: var(--soft); font-size: 13.5px; margin: 0; }
.summary { font-size: 16.5px; max-width: 80ch; margin: 12px 0 10px; }
.common { color: var(--soft); font-size: 13.5px; margin: 0 0 14px; }
.common b { color: var(--ink); font-weight: 500; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin-bottom: 14px; }
.tile { background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--brand); border-radius: 8px; padding: 9px 14px; }
.tile b { display: block; font-size: 22px; line-height: 1.3; letter-spacing: -0.02em; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13px; }
.tile.alarm { border-left-color: var(--alarm); }
nav { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 13.5px; margin: 0 0 16px; }
section, figure { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 18px 22px; margin: 0 0 16px; }
#charts { background: none; border: 0; padding: 0; margin: 0; }
#charts > h2 { margin: 22px 0 10px; }
figcaption { display: grid; grid-template-columns: minmax(0, 1fr) auto; column-gap: 16px; margin-bottom: 10px; }
figcaption p { grid-column: 1; color: var(--soft); font-size: 13.5px; max-width: 130ch; margin: 2px 0 0; }
.save { grid-column: 2; grid-row: 1 / span 2; white-space: nowrap; }
details.chart { background: var(--card); border: 1px solid var(--line); border-radius: 10px; margin: 0 0 10px; }
details.chart > summary { padding: 10px 22px; margin: 0; font-size: 14px; color: var(--ink); }
details.chart > summary b { font-weight: 600; }
details.chart > figure { border: 0; margin: 0; padding-top: 4px; }
button { font: inherit; font-size: 12px; color: var(--soft); background: var(--card); border: 1px solid var(--line); border-radius: 6px;
  padding: 2px 10px; margin-left: 6px; cursor: pointer; }
button:hover { color: var(--brand); border-color: var(--brand); }
button.sort { all: unset; cursor: pointer; }
button.sort:hover { color: var(--brand); }
button.sort:focus-visible { outline: 2px solid var(--brand); outline-offset: 2px; }
.plot { width: 100%; overflow-x: auto; overflow-y: hidden; }
.plot svg { display: block; }
.scroll { overflow: auto; max-height: 460px; position: relative;
  background: linear-gradient(var(--card) 40%, transparent) top / 100% 28px no-repeat local,
    linear-gradient(transparent, var(--card) 60%) bottom / 100% 28px no-repeat local,
    linear-gradient(var(--axis), transparent) top / 100% 8px no-repeat scroll,
    linear-gradient(transparent, var(--axis)) bottom / 100% 8px no-repeat scroll; }
.filter { display: flex; align-items: center; gap: 10px; margin: 0 0 8px; color: var(--soft); font-size: 13px; }
.filter[hidden] { display: none; }
.filter input { font: inherit; color: var(--ink); background: var(--card); border: 1px solid var(--axis); border-radius: 6px; padding: 3px 10px;
  width: 260px; min-width: 0; max-width: 100%; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
caption { text-align: left; font-weight: 700; padding: 6px 0; font-size: 12px; letter-spacing: 0.06em; text-transform: uppercase; }
th, td { text-align: left; padding: 5px 12px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
thead th { position: sticky; top: 0; z-index: 1; background: var(--card); font-size: 12.5px; line-height: 1.3; vertical-align: bottom;
  border-bottom: 0; box-shadow: inset 0 -2px 0 var(--line); }
tbody th { font-weight: 500; }
#cells td { white-space: nowrap; }
.num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.none { color: var(--soft); }
.runs { white-space: nowrap; font-size: 12.5px; }
.runs a { margin-right: 6px; }
th[aria-sort=ascending] button::after { content: ' \2191'; }
th[aria-sort=descending] button::after { content: ' \2193'; }
tbody tr:hover { background: var(--raised); }
.incomplete th { color: var(--alarm); }
.reason { color: var(--soft); overflow-wrap: anywhere; min-width: 200px; }
.badge { display: inline-block; background: var(--alarm_ground); color: var(--alarm); border-radius: 10px; padding: 0 9px; font-size: 12px; font-weight: 600; }
.differs { background: var(--notice_ground); }
.facts { columns: 2 420px; column-gap: 32px; }
.facts table { break-inside: avoid; margin-bottom: 14px; table-layout: fixed; }
.facts th { width: 38%; color: var(--soft); overflow-wrap: anywhere; }
.facts td { overflow-wrap: anywhere; }
summary { cursor: pointer; color: var(--soft); font-size: 13.5px; margin: 4px 0 6px; overflow-wrap: anywhere; }
summary h2 { display: inline; color: var(--ink); }
summary h2 + small { margin-left: 8px; }
.left-out { color: var(--soft); font-size: 13.5px; margin: 0 0 16px; }
ul { margin: 0 0 8px; padding-left: 20px; }
li { margin-bottom: 4px; overflow-wrap: anywhere; }
.problem { background: var(--alarm_ground); color: var(--alarm); border-radius: 8px; padding: 10px 16px; }
@media (max-width: 640px) {
  main { padding: 18px 10px 36px; }
  h1 { font-size: 26px; }
  section, figure { padding: 14px 12px; }
  details.chart > summary { padding: 10px 12px; }
  figcaption { grid-template-columns: minmax(0, 1fr); }
  .save { grid-column: 1; grid-row: auto; margin-top: 6px; }
  .save button:first-child { margin-left: 0; }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 8px; }
}
@media print {
  body { background: var(--card); }
  section, figure { break-inside: avoid; border: 0; padding: 0; }
  .plot { background: var(--card); print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .save, .left-out, nav, .filter, #mode { display: none; }
  .scroll { max-height: none; overflow: visible; }
}
)css";

}  // namespace trainyard::report
