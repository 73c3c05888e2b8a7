#include "report/page_parts.h"

namespace trainyard::report {

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
