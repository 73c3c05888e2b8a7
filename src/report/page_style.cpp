#include "report/page_parts.h"

namespace trainyard::report {

const char* const kPageStyle =
    R"css(:root { --ink: #1c2430; --soft: #5a6672; --line: #dfe4ea; --ground: #f6f8fa; --brand: #0072b2; --alarm: #c4320a; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.55 Inter, system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 36px 28px 64px; }
h1 { font-size: 34px; line-height: 1.2; letter-spacing: -0.02em; margin: 2px 0 6px; overflow-wrap: anywhere; }
h2 { font-size: 20px; letter-spacing: -0.01em; margin: 0 0 10px; }
h3 { font-size: 16px; margin: 0; }
p { margin: 0 0 10px; }
small { color: var(--soft); font-size: 12px; font-weight: 400; }
.kicker { color: var(--brand); font-size: 12.5px; font-weight: 700; letter-spacing: 0.08em; text-transform: uppercase; margin: 0; }
.when { color: var(--soft); font-size: 13.5px; }
.summary { font-size: 17px; max-width: 75ch; margin: 14px 0 20px; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 14px; margin-bottom: 22px; }
.tile { background: white; border: 1px solid var(--line); border-left: 4px solid var(--brand); border-radius: 8px; padding: 12px 16px; }
.tile b { display: block; font-size: 24px; letter-spacing: -0.02em; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13px; }
.tile.alarm { border-left-color: var(--alarm); }
section, figure { background: white; border: 1px solid var(--line); border-radius: 10px; padding: 22px 24px; margin: 0 0 20px; }
#charts { background: none; border: 0; padding: 0; }
#charts > h2 { margin: 30px 0 12px; }
figcaption { display: grid; grid-template-columns: 1fr auto; column-gap: 16px; margin-bottom: 12px; }
figcaption p { grid-column: 1; color: var(--soft); font-size: 13.5px; margin: 2px 0 0; }
.save { grid-column: 2; grid-row: 1 / span 2; white-space: nowrap; }
button { font: inherit; font-size: 12px; color: var(--soft); background: white; border: 1px solid var(--line); border-radius: 6px;
  padding: 2px 10px; margin-left: 6px; cursor: pointer; }
button:hover { color: var(--brand); border-color: var(--brand); }
.plot { width: 100%; overflow-x: auto; }
.scroll { overflow: auto; max-height: 720px; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
caption { text-align: left; font-weight: 700; padding: 6px 0; font-size: 12px; letter-spacing: 0.06em; text-transform: uppercase; }
th, td { text-align: left; padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
thead th { position: sticky; top: 0; background: white; font-size: 12.5px; line-height: 1.3; vertical-align: bottom;
  border-bottom: 2px solid var(--line); }
tbody th { font-weight: 500; }
.num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.none { color: #9aa4ae; }
.sortable thead th { cursor: pointer; }
.sortable thead th:hover { color: var(--brand); }
th[aria-sort=ascending]::after { content: ' \2191'; }
th[aria-sort=descending]::after { content: ' \2193'; }
tbody tr:hover { background: #f2f7fb; }
.incomplete th { color: var(--alarm); }
.reason { color: var(--soft); overflow-wrap: anywhere; }
.badge { display: inline-block; background: #fdece5; color: var(--alarm); border-radius: 10px; padding: 0 9px; font-size: 12px; font-weight: 600; }
.differs { background: #fff7ec; }
.facts { columns: 2 420px; column-gap: 32px; }
.facts table { break-inside: avoid; margin-bottom: 16px; }
.facts th { width: 38%; color: var(--soft); }
.facts td { overflow-wrap: anywhere; }
details > summary { cursor: pointer; color: var(--soft); font-size: 13.5px; margin: 4px 0 8px; overflow-wrap: anywhere; }
.left-out { color: var(--soft); font-size: 13.5px; }
ul { margin: 0 0 8px; padding-left: 20px; }
li { margin-bottom: 4px; overflow-wrap: anywhere; }
.problem { background: #fdece5; color: var(--alarm); border-radius: 8px; padding: 10px 16px; }
@media print {
  body { background: white; }
  section, figure { break-inside: avoid; border: 0; padding: 0; }
  .save, .left-out { display: none; }
  .scroll { max-height: none; overflow: visible; }
}
)css";

}  // namespace trainyard::report
