#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/chart.h"
#include "report/spec.h"

namespace trainyard::report {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostQueuePanels = 8;

constexpr const char* kEnsembleQueuesView = R"json({
  "height": 160,
  "layer": [
    {"mark": {"type": "line", "strokeWidth": 1.5, "interpolate": "step-after"},
     "encoding": {
       "x": {"field": "seconds", "type": "quantitative", "title": "seconds", "axis": {"tickCount": 6}},
       "y": {"field": "fill", "type": "quantitative", "title": "full", "axis": {"format": "%"}, "scale": {"domain": [0, 1]}},
       "color": {"field": "series", "type": "nominal", "title": null}
     }}
  ]
})json";

// What one run's processes noted of their queues: of each kind the mean over processes.
void add_queues(const record::RunRecord& run, const std::string& panel, std::vector<Row>& rows) {
  const auto found = run.details.find("members");
  if (found == run.details.end()) return;
  std::map<std::pair<std::string, std::int64_t>, std::pair<double, int>>
      sums;  // by name and tenth of a second
  for (const Json& member : Json::parse(found->second)) {
    const Json queues = member.value("queues", Json::object());
    const Json names = queues.value("names", Json::array());
    for (const Json& sample : queues.value("samples", Json::array()))
      for (std::size_t i = 0; i < names.size() && i + 2 < sample.size(); ++i) {
        auto& [sum, count] = sums[{names[i].get<std::string>(), std::llround(sample[0].get<double>() * 10)}];
        sum += sample[i + 2].get<double>();
        ++count;
      }
  }
  for (const auto& [key, sum] : sums)
    rows.push_back({{"panel", panel},
                    {"seconds", static_cast<double>(key.second) / 10},
                    {"fill", sum.first / sum.second},
                    {"series", key.first}});
}

}  // namespace

Chart make_ensemble_queues_chart(const StudyView& view) {
  Chart chart{"ensemble-queues", "How full the queues were",
              "Means over members: what is made and not yet passed on, and what waits for its steps. Empty "
              "before a stage: it waits "
              "for samples; full: those who make them wait for it.",
              "", ""};
  std::vector<Row> rows;
  std::vector<std::string> panels;
  // Some of all cells, evenly.
  const std::size_t step = (view.cells.size() + kMostQueuePanels - 1) / kMostQueuePanels;
  for (std::size_t i = 0; i < view.cells.size(); i += step) {
    const Cell& cell = view.cells[i];
    if (cell.done.empty()) continue;
    const std::size_t before = rows.size();
    add_queues(*cell.done.front(), cell.label, rows);
    if (rows.size() > before) panels.push_back(cell.label);
  }
  if (rows.empty())
    chart.left_out = "no run noted its queues";
  else
    chart.spec = finish_spec(kEnsembleQueuesView, rows, {"panel", panels, {"x"}}, {2, 320, 76});
  return chart;
}

}  // namespace trainyard::report
