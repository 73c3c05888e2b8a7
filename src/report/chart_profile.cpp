#include "base/json.h"
#include "record/unit.h"
#include "report/chart.h"
#include "report/spec.h"

namespace trainyard::report {
namespace {

constexpr std::size_t kMostCellsShown = 4, kMostSignals = 4;

constexpr const char* kProfileView = R"json({
  "height": 130,
  "encoding": {
    "x": {"type": "quantitative", "title": "seconds", "scale": {"nice": false, "zero": true},
          "axis": {"grid": false, "tickCount": 6}},
    "y": {"type": "quantitative", "title": null, "scale": {"zero": true}, "axis": {"tickCount": 4}}
  },
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'burst'"}],
      "mark": {"type": "rect", "color": "@unsteady", "opacity": 1},
      "encoding": {
        "x": {"field": "from"}, "x2": {"field": "to"}, "y": null,
        "tooltip": [{"field": "from", "type": "quantitative", "title": "burst from, seconds"},
                    {"field": "to", "type": "quantitative", "title": "to"}]
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'value'"}],
      "mark": {"type": "line", "strokeWidth": 1.2, "interpolate": "step-after"},
      "encoding": {"x": {"field": "seconds"}, "y": {"field": "value"}}
    }
  ]
})json";

// The signals that people look for first, by the end or the beginning of their names.
constexpr const char* kOrder[] = {"gpu0_busy", "cpu_cores",        "gpu0_memory_busy", "gpu0_power",
                                  "resident",  "gpu0_memory_used", "network_received", "network_sent",
                                  "disk_read", "disk_written"};

struct ShownUnit {
  record::Unit unit;
  const char* text;
  double size;
};
constexpr ShownUnit kShownUnits[] = {{record::unit::fraction, "%", 0.01},
                                     {record::unit::bytes_per_second, "MiB/s", 1048576},
                                     {record::unit::bytes, "MiB", 1048576},
                                     {record::unit::watts, "W", 1},
                                     {record::unit::cores, "cores", 1}};

// "gpu0 busy, %", and what one of the unit is.
std::pair<std::string, double> words_for(const std::string& signal) {
  std::string name = signal, unit;
  double size = 1;
  for (const ShownUnit& one : kShownUnits)
    if (record::unit_in_name(signal) == one.unit) {
      name = record::without_unit(signal);
      unit = fmt::format(", {}", one.text);
      size = one.size;
    }
  std::replace(name.begin(), name.end(), '_', ' ');
  return {name + unit, size};
}

std::vector<std::string> chosen_signals(const Json& timeline) {
  std::vector<std::string> names;
  for (const char* begin : kOrder)
    for (const auto& [name, values] : timeline["signals"].items())
      if (name.starts_with(begin) && names.size() < kMostSignals) names.push_back(name);
  return names;
}

void add_signal(const Json& profile, const std::string& signal, const std::string& panel, double unit,
                std::vector<Row>& rows) {
  const Json &seconds = profile["timeline"]["seconds"], &values = profile["timeline"]["signals"][signal];
  for (const Json& one : profile["signals"])
    if (one["signal"] == signal && one.contains("burst_times"))
      for (const Json& burst : one["burst_times"])
        rows.push_back({{"panel", panel},
                        {"kind", std::string("burst")},
                        {"from", burst[0].get<double>()},
                        {"to", burst[1].get<double>()}});
  // Each holds until the next; the last until the end.
  for (std::size_t i = 0; i < seconds.size() && !values.empty(); ++i)
    rows.push_back({{"panel", panel},
                    {"kind", std::string("value")},
                    {"seconds", seconds[i].get<double>()},
                    {"value", values[std::min(i, values.size() - 1)].get<double>() / unit}});
}

// Adds the panels of a profile; `label` tells it from others.
void add_profile(const Json& profile, const std::string& label, std::vector<std::string>& panels,
                 std::vector<Row>& rows) {
  if (!profile.contains("timeline") || !profile.contains("signals")) return;
  for (const std::string& signal : chosen_signals(profile["timeline"])) {
    const auto [words, unit] = words_for(signal);
    panels.push_back(label.empty() ? words : fmt::format("{}: {}", label, words));
    add_signal(profile, signal, panels.back(), unit, rows);
  }
}

void finish(const std::vector<std::string>& panels, const std::vector<Row>& rows, Chart& chart) {
  if (rows.empty())
    chart.left_out = "no signal of the profiles changed";
  else
    chart.spec = finish_spec(kProfileView, rows, {"panel", panels, {"x", "y"}}, {2, 380, 70});
}

constexpr const char* kBurstsInWords = "Shaded: bursts, where the signal is on the higher of its two levels.";

// The first run of a cell that was profiled, or null.
const record::RunRecord* profiled_run(const CellView& cell) {
  const auto found = std::find_if(cell.done.begin(), cell.done.end(), [](const record::RunRecord* run) {
    return run->details.contains("profile");
  });
  return found == cell.done.end() ? nullptr : *found;
}

}  // namespace

Chart make_profile_chart(const StudyView& view) {
  Chart chart{"profile", "What commands used, over time", "", "", ""};
  std::vector<const CellView*> cells;
  for (const CellView& cell : view.cells)
    if (profiled_run(cell) != nullptr) cells.push_back(&cell);
  if (cells.empty()) {
    chart.left_out = "no run was profiled";
    return chart;
  }
  chart.explanation = fmt::format("Means over short times, of one run a cell. {}", kBurstsInWords);
  const std::size_t all = cells.size(), step = (all + kMostCellsShown - 1) / kMostCellsShown;
  std::vector<Row> rows;
  std::vector<std::string> panels;
  for (std::size_t i = 0; i < all; i += step) {
    const Json profile = parse_json_or_discard(profiled_run(*cells[i])->details.at("profile"));
    add_profile(profile, all == 1 ? "" : cells[i]->label, panels, rows);
  }
  if (step > 1) chart.explanation += fmt::format(" Some of {} cells.", all);
  finish(panels, rows, chart);
  return chart;
}

Chart make_profile_chart(const std::string& profile) {
  Chart chart{"profile", "Resources over time", fmt::format("Means over short times. {}", kBurstsInWords), "",
              ""};
  std::vector<Row> rows;
  std::vector<std::string> panels;
  add_profile(parse_json_or_discard(profile), "", panels, rows);
  finish(panels, rows, chart);
  return chart;
}

}  // namespace trainyard::report
