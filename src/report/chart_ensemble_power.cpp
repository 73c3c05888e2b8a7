#include <fmt/format.h>

#include "report/chart.h"
#include "report/spec.h"

namespace trainyard::report {
namespace {

constexpr const char* kEnsemblePowerView = R"json({
  "height": {"step": 22},
  "layer": [
    {"mark": {"type": "bar"},
     "encoding": {
       "y": {"field": "label", "type": "nominal", "title": null, "sort": null},
       "x": {"field": "joules", "type": "quantitative", "title": "joules an image"},
       "color": {"field": "what", "type": "nominal", "title": null},
       "tooltip": [
         {"field": "label", "title": "cell"}, {"field": "what"},
         {"field": "joules", "type": "quantitative", "title": "joules an image", "format": ".4~r"},
         {"field": "watts", "type": "quantitative", "title": "watts", "format": ".4~r"}
       ]
     }}
  ]
})json";

}  // namespace

Chart make_ensemble_power_chart(const StudyView& view) {
  Chart chart{"ensemble-power", "Energy of an image",
              "Above the idle machine where its power was taken before the run, and the rest.", "", ""};
  std::vector<Row> rows;
  for (const Cell& cell : view.cells)
    for (const record::RunRecord* run : cell.done) {
      const double all = run->figure_or("energy_joules_per_image", 0),
                   watts = run->figure_or("power_watts", 0);
      if (!(all > 0)) continue;
      const double above = run->figure_or("energy_above_idle_joules_per_image", all);
      const bool split = run->figures.count("energy_above_idle_joules_per_image") > 0;
      rows.push_back({{"label", cell.label},
                      {"what", std::string(split ? "above idle" : "all")},
                      {"joules", above},
                      {"watts", watts}});
      if (split)
        rows.push_back({{"label", cell.label},
                        {"what", std::string("idle")},
                        {"joules", all - above},
                        {"watts", watts}});
    }
  if (rows.empty())
    chart.left_out = "no run could read a counter of energy";
  else
    chart.spec = finish_spec(kEnsemblePowerView, rows, {}, {1, 420, 0, "label"});
  return chart;
}

}  // namespace trainyard::report
