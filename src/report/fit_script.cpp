#include "report/page.h"
#include "report/spec.h"

namespace trainyard::report {
namespace {

// A facet becomes a concatenation: its panels can have titles of several lines, which nothing cuts, and it
// shares what the facet shared. Widths of letters are guessed, a little too wide.
constexpr const char* kFitScript = R"js(
const letter_pixels = 6.6;

// So many tones, for numbers: the more, the further from the ground.
function ramp(palette, count) {
  const part = (colour, at) => parseInt(colour.slice(1 + 2 * at, 3 + 2 * at), 16);
  const mixed = (a, b, share) => 'rgb(' + [0, 1, 2].map(at => Math.round(part(a, at) * (1 - share) + part(b, at) * share)).join(',') + ')';
  const tone = share => (share < 0.5 ? mixed(palette.ramp_low, palette.ramp_middle, 2 * share)
    : mixed(palette.ramp_middle, palette.ramp_high, 2 * share - 1));
  return [...Array(count).keys()].map(i => tone(i / Math.max(1, count - 1)));
}

// Names of colours become the colours of the mode. What comes from the study is no name of a colour.
function coloured(node, palette) {
  if (typeof node === 'string' && node.startsWith('@ramp ')) return ramp(palette, Number(node.slice(6)));
  if (typeof node === 'string') return node[0] === '@' && palette[node.slice(1)] || node;
  if (Array.isArray(node)) return node.map(item => coloured(item, palette));
  if (node === null || typeof node !== 'object') return node;
  const whole = ['data', 'facet', 'usermeta', 'sort', 'domain', 'values'];
  const stays = (key, value) => whole.includes(key) || key === 'title' && typeof value === 'string';
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, stays(key, value) ? value : coloured(value, palette)]));
}

// Lines of at most so many letters, broken behind commas and colons, and at spaces and within words only where
// nothing else helps.
function wrapped(text, letters) {
  const lines = [];
  for (const part of String(text).split(/(?<=[,:]) /)) {
    const pieces = part.length <= letters ? [part] : part.split(' ').flatMap(word => word.match(new RegExp(`.{1,${letters}}`, 'gs')) || ['']);
    for (const piece of pieces) {
      const last = lines.length - 1;
      if (last >= 0 && lines[last].length + 1 + piece.length <= letters) lines[last] += ' ' + piece;
      else lines.push(piece);
    }
  }
  return lines;
}

const longest = (rows, field) => Math.max(0, ...new Set(rows.map(row => String(row[field] ?? '').length)));

// Values of a field that go on in a second line take as much height more.
function wrap_labels(view, rows, field, letters) {
  let lines = 1;
  for (const row of rows) {
    if (row[field] === undefined) continue;
    const parts = wrapped(row[field], letters);
    lines = Math.max(lines, parts.length);
    row[field] = parts.join('\n');
  }
  if (lines === 1) return;
  for (const layer of [view, ...(view.layer || [])]) {
    const y = layer.encoding && layer.encoding.y;
    if (y && y.field === field) y.axis = {...y.axis, labelExpr: "split(datum.label, '\\n')", labelLineHeight: 14};
    if (y && Array.isArray(y.sort)) y.sort = y.sort.map(value => wrapped(value, letters).join('\n'));
  }
  if (view.height && view.height.step) view.height = {step: view.height.step + 14 * (lines - 1)};
}

function fit_spec(spec, width, mode) {
  const fit = spec.usermeta, palette = palettes[mode], fitted = coloured(JSON.parse(JSON.stringify(spec)), palette);
  const rows = fitted.data.values, view = fitted.facet ? fitted.spec : fitted;
  for (const row of rows) if (row.ink) row.ink = palette[row.ink.slice(1)];
  const in_legends = ['series', 'prefix', 'category', 'limit', 'what'].map(field => longest(rows, field));
  const legend_letters = Math.min(Math.max(...in_legends), Math.floor((width - 60) / letter_pixels));
  fitted.config.legend.columns = Math.max(1, Math.floor((width - 10) / (7 * legend_letters + 50)));
  const columns = fitted.facet ? Math.max(1, Math.min(fit.most_columns, Math.floor(width / fit.least_width))) : 1;
  const place = Math.floor(width / columns) - 8;
  let margin = Math.min(fit.margin, Math.floor(place * 0.45));
  if (fit.labels) {
    margin = Math.min(Math.ceil(longest(rows, fit.labels) * letter_pixels) + 16, Math.floor(place * 0.42));
    wrap_labels(view, rows, fit.labels, Math.max(6, Math.floor((margin - 12) / letter_pixels)));
  }
  const column = fit.table_columns ? (place - margin - 14) / fit.table_columns : Infinity;
  for (const row of rows) if (column < 46 && row.short) row.text = column < 26 ? '' : row.short;
  // Cells of a table are not wider than their numbers need.
  const most = fit.table_columns ? 88 * fit.table_columns : Infinity;
  if (!fitted.facet && most < width - margin) {
    fitted.width = most;
    return fitted;
  }
  if (!fitted.facet) {
    fitted.width = width;
    fitted.autosize = {type: 'fit-x', contains: 'padding'};
    return fitted;
  }
  fitted.columns = columns;
  fitted.bounds = 'flush';
  // A selection has one name, and so it has one view: such charts stay facets, and have short titles.
  if (JSON.stringify(view).includes('"params"')) {
    fitted.spec.width = Math.max(100, place - margin - 14);
    fitted.spacing = {column: margin + 22, row: 84};
    return fitted;
  }
  const {facet, resolve} = fitted, own = resolve.scale || {}, inner = Math.min(most, Math.max(100, place - margin - 14));
  const titles = facet.sort.map(value => wrapped(value, Math.floor((place - 16) / (1.13 * letter_pixels))));
  const lines = Math.max(...titles.map(title => title.length));
  fitted.concat = facet.sort.map((value, at) => ({
    ...view, width: inner, title: {text: titles[at], frame: 'group', dx: 8 - margin},
    transform: [{filter: {field: facet.field, equal: value}}, ...(view.transform || [])]
  }));
  fitted.spacing = {column: margin + 22, row: 62 + 16 * lines};
  fitted.resolve = {scale: {x: own.x || 'shared', y: own.y || 'shared'}, axis: {x: 'independent', y: 'independent'}};
  delete fitted.facet;
  delete fitted.spec;
  return fitted;
}
)js";

}  // namespace

std::string fit_script() { return "const palettes = " + palettes_json() + ";" + kFitScript; }

}  // namespace trainyard::report
