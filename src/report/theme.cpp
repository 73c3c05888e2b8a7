#include "report/theme.h"

namespace trainyard::report {

std::string theme() {
  return R"json({
    "background": "white",
    "font": "Inter, system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif",
    "padding": 4,
    "axis": {
      "labelFontSize": 12, "labelColor": "#3d4752", "labelPadding": 6, "labelLimit": 320, "labelOverlap": true,
      "titleFontSize": 12, "titleFontWeight": 600, "titleColor": "#1c2430", "titlePadding": 10,
      "domainColor": "#aab4bf", "tickColor": "#aab4bf", "tickSize": 4, "gridColor": "#e8ecf0"
    },
    "axisY": {"domain": false, "ticks": false},
    "axisYQuantitative": {"labelFlush": true},
    "view": {"stroke": null},
    "header": {"labelFontSize": 12.5, "labelFontWeight": 600, "labelColor": "#1c2430", "labelAnchor": "start",
               "labelPadding": 8, "labelLimit": 420, "title": null},
    "facet": {"spacing": 26},
    "legend": {
      "orient": "top", "direction": "horizontal", "labelFontSize": 12, "labelColor": "#3d4752", "labelLimit": 260,
      "titleFontSize": 12, "titleFontWeight": 600, "titleColor": "#1c2430", "symbolSize": 90, "symbolType": "circle", "symbolOpacity": 1, "symbolStrokeWidth": 0, "columnPadding": 18,
      "offset": 12
    },
    "range": {
      "category": ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5D5D5D", "#8C6BB1"]
    },
    "point": {"filled": true, "size": 55},
    "line": {"strokeWidth": 2.2},
    "rule": {"strokeWidth": 1.6},
    "text": {"fontSize": 11.5, "color": "#3d4752"}
  })json";
}

}  // namespace trainyard::report
