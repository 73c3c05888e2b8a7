#include "cli/study_results.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/study_options.h"
#include "cli/text_table.h"
#include "record/two_level.h"

namespace trainyard::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CellResult {
  const record::Settings* settings = nullptr;
  std::int64_t expected = 0, done = 0, warnings = 0;
  std::vector<std::vector<double>> speeds;  // images per second, one a run
};

// Cells in the order in which the plan names them first.
std::vector<std::pair<std::string, CellResult>> cells_of(const study::Progress& progress) {
  std::vector<std::pair<std::string, CellResult>> cells;
  std::map<std::string, std::size_t> places;
  for (const study::RunState& state : progress.states) {
    const auto [place, is_new] = places.emplace(state.planned.cell, cells.size());
    if (is_new) cells.push_back({state.planned.cell, {&state.planned.settings}});
    CellResult& cell = cells[place->second].second;
    ++cell.expected;
    if (!state.done()) continue;
    ++cell.done;
    cell.warnings += static_cast<std::int64_t>(state.result->warnings.size());
    if (state.result->images_per_second) cell.speeds.push_back({*state.result->images_per_second});
  }
  return cells;
}

std::string interval_text(const record::TwoLevel& speed) {
  return speed.runs < 2
             ? "one run"
             : fmt::format("{:.0f} .. {:.0f}", std::max(speed.interval.low, 0.0), speed.interval.high);
}

// Numbers by size, everything else by its text.
bool in_order(const record::Settings& a, const record::Settings& b, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto of_a = a.find(name), of_b = b.find(name);
    if (of_a == a.end() || of_b == b.end()) continue;
    const double nothing = std::nan("");
    const double x = record::number_or(of_a->second, nothing), y = record::number_or(of_b->second, nothing);
    if (!std::isnan(x) && !std::isnan(y) ? x != y : of_a->second != of_b->second)
      return !std::isnan(x) && !std::isnan(y) ? x < y
                                              : record::to_text(of_a->second) < record::to_text(of_b->second);
  }
  return false;
}

void print_cells(const study::Progress& progress) {
  auto cells = cells_of(progress);
  std::vector<const record::Settings*> settings;
  for (const auto& [hash, cell] : cells) settings.push_back(cell.settings);
  const std::vector<std::string> names = varying_settings(settings);
  std::stable_sort(cells.begin(), cells.end(), [&](const auto& a, const auto& b) {
    return in_order(*a.second.settings, *b.second.settings, names);
  });
  std::vector<std::string> head = names;
  head.insert(head.end(), {"runs", "images/s", "95 % interval", "run spread", "warnings"});
  TextTable table(head);
  for (const auto& [hash, cell] : cells) {
    std::vector<std::string> row;
    for (const std::string& name : names) row.push_back(setting_text(*cell.settings, name));
    row.push_back(fmt::format("{}/{}", cell.done, cell.expected));
    if (cell.speeds.empty()) {
      row.insert(row.end(), {"", "", ""});
    } else {
      const record::TwoLevel speed = record::describe_runs(cell.speeds);
      row.insert(row.end(), {fmt::format("{:.0f}", speed.mean), interval_text(speed),
                             speed.runs < 2 ? "" : fmt::format("{:.1f} %", 100 * speed.run_spread)});
    }
    row.push_back(cell.warnings > 0 ? fmt::format("{}", cell.warnings) : "");
    table.add(std::move(row));
  }
  fmt::print("{}", table.text());
}

void print_failures(const study::Progress& progress) {
  TextTable table({"not done", "run", "why"});
  for (const study::RunState& state : progress.states)
    if (state.result && !state.done())
      table.add({name(state.result->status), state.result->id, state.result->reason});
  if (table.size() > 0) fmt::print("\n{}", table.text());
}

}  // namespace

void print_progress(const study::Progress& progress) {
  print_cells(progress);
  print_failures(progress);
  print_totals(progress);
}

void print_totals(const study::Progress& progress) {
  std::string failed;
  for (const auto& [status, count] : progress.failed()) failed += fmt::format(", {} {}", count, name(status));
  fmt::print("\nstudy {}: {} expected, {} done{}, {} missing\n", progress.study, progress.expected(),
             progress.done(), failed, progress.missing());
}

Json progress_json(const study::Progress& progress) {
  Json failed = Json::object(), runs = Json::array();
  for (const auto& [status, count] : progress.failed()) failed[name(status)] = count;
  for (const study::RunState& state : progress.states) {
    Json row = {{"cell", state.planned.cell},
                {"replicate", state.planned.replicate},
                {"settings", Json::parse(record::to_json(state.planned.settings))},
                {"attempts", state.attempts},
                {"status", state.result ? name(state.result->status) : "missing"}};
    if (state.result) {
      row["run"] = state.result->id;
      row["reason"] = state.result->reason;
      row["images_per_second"] =
          state.result->images_per_second ? Json(*state.result->images_per_second) : Json(nullptr);
    }
    runs.push_back(std::move(row));
  }
  return {{"study", progress.study}, {"expected", progress.expected()},
          {"done", progress.done()}, {"missing", progress.missing()},
          {"failed", failed},        {"runs", runs}};
}

std::filesystem::path own_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

}  // namespace trainyard::cli
