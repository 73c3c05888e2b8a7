#include "report/page_parts.h"

namespace trainyard::report {

// Node has no canvas to measure text with, and Vega's own guess is far too wide: widths of Helvetica's
// letters, in hundredths of the font size, roughly, and a tenth more for wider fonts.
const char* const kNodeScript = R"js('use strict';
const fs = require('fs'), vm = require('vm');
const [width, vega_file, vega_lite_file, ...charts] = process.argv.slice(2);
for (const file of [vega_file, vega_lite_file]) vm.runInThisContext(fs.readFileSync(file, 'utf8'), file);

const letter_width = letter => /[ijl.,:;'|!()\[\] ]/.test(letter) ? 28 : /[mwMW@%]/.test(letter) ? 88 :
  /[A-Z]/.test(letter) ? 68 : /[ftr\-"]/.test(letter) ? 35 : 56;
vega.textMetrics.width = (item, text) => [...String(text ?? '')].reduce((sum, letter) => sum + letter_width(letter), 0) *
  vega.textMetrics.height(item) / 90;

async function draw(chart) {
  const spec = fit_spec(JSON.parse(fs.readFileSync(chart + '.json', 'utf8')), Number(width), 'light');
  spec.background = palettes.light.card;
  const view = new vega.View(vega.parse(vegaLite.compile(spec).spec), {renderer: 'none', logLevel: vega.Error});
  fs.writeFileSync(chart + '.svg', await view.toSVG());
}

(async () => {
  for (const chart of charts) await draw(chart);
})().catch(error => {
  console.error(error.message);
  process.exit(1);
});
)js";

}  // namespace trainyard::report
