#include <fmt/format.h>

#include "analyze/ensemble.h"
#include "report/chart.h"
#include "report/spec.h"

namespace trainyard::report {
namespace {

constexpr const char* kEnsembleCoresView = R"json({
  "height": 300,
  "layer": [
    {"mark": {"type": "line", "point": {"size": 60}},
     "encoding": {
       "x": {"field": "cores", "type": "quantitative", "title": "cores", "axis": {"format": "d", "tickMinStep": 1}},
       "y": {"aggregate": "mean", "field": "times", "type": "quantitative", "title": "times faster than the baseline"},
       "color": {"field": "series", "type": "nominal", "title": null},
       "tooltip": [
         {"field": "series"}, {"field": "cores", "type": "quantitative"},
         {"aggregate": "mean", "field": "times", "type": "quantitative", "title": "speed-up", "format": ".3~r"}
       ]
     }}
  ]
})json";

}  // namespace

Chart make_ensemble_cores_chart(const std::vector<analyze::EnsembleRun>& runs) {
  Chart chart{"ensemble-cores", "Speed-up of sharing against cores",
              "Images a second of a member over those of the baseline with as many members and cores.", "",
              ""};
  std::vector<Row> rows;
  for (const analyze::CoreSpeedup& one : analyze::core_speedups(runs))
    rows.push_back({{"cores", std::int64_t{one.cores}},
                    {"times", one.speedup},
                    {"series", fmt::format("{}, {} members", one.design, one.members)}});
  if (rows.empty())
    chart.left_out = "no design has a baseline of as many members and cores beside it";
  else
    chart.spec = finish_spec(kEnsembleCoresView, rows, {}, {1, 420, 80});
  return chart;
}

}  // namespace trainyard::report
