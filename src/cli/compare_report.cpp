#include "cli/compare_report.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/study_options.h"
#include "cli/text_table.h"

namespace trainyard::cli {
namespace {

using Json = nlohmann::ordered_json;
using record::ComparedCell;
using record::Comparison;
using record::SettingDifference;
using record::UnmatchedCell;
using record::Verdict;

std::string difference_text(const SettingDifference& difference) {
  const auto value = [](const std::string& text) { return text.empty() ? "not set" : text; };
  return fmt::format("{} ({} / {})", difference.name, value(difference.a), value(difference.b));
}

std::string join_differences(const std::vector<SettingDifference>& differences) {
  std::vector<std::string> texts;
  for (const SettingDifference& difference : differences) texts.push_back(difference_text(difference));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string pairing_text(const Verdict& verdict) {
  const std::string runs = fmt::format("{} + {} runs", verdict.runs_a, verdict.runs_b);
  switch (verdict.pairing) {
    case record::Pairing::nodes:
      return fmt::format("{}, within {} nodes", runs, verdict.nodes);
    case record::Pairing::runs:
      return runs;
    case record::Pairing::node_means:
      return fmt::format("{}, over {} nodes", runs, verdict.nodes);
    case record::Pairing::steps:
      return fmt::format("{}, their steps", runs);
  }
  return runs;
}

// "4", or "1 -> 2" where the sides differ.
std::string cell_text(const ComparedCell& cell, const std::string& name) {
  const std::string a = setting_text(cell.a, name), b = setting_text(cell.b, name);
  return a == b ? a : fmt::format("{} -> {}", a, b);
}

std::string bound_text(double bound) { return std::isfinite(bound) ? fmt::format("{:.3f}", bound) : "?"; }

void print_cells(const Comparison& comparison) {
  std::vector<const record::Settings*> envelopes;
  for (const ComparedCell& cell : comparison.cells) envelopes.insert(envelopes.end(), {&cell.a, &cell.b});
  std::vector<std::string> names = varying_settings(envelopes);
  if (names.empty()) names = {"network", "batch"};
  std::vector<std::string> head = names;
  head.insert(head.end(), {"A images/s", "B images/s", "B / A", "95 % interval", "verdict", "from", "note"});
  TextTable table(head);
  for (const ComparedCell& cell : comparison.cells) {
    const Verdict& verdict = cell.verdict;
    std::vector<std::string> row;
    for (const std::string& name : names) row.push_back(cell_text(cell, name));
    row.insert(row.end(),
               {fmt::format("{:.0f}", verdict.speed_a), fmt::format("{:.0f}", verdict.speed_b),
                fmt::format("{:.3f}", verdict.ratio),
                fmt::format("{} .. {}", bound_text(verdict.interval.low), bound_text(verdict.interval.high)),
                name(verdict.outcome), pairing_text(verdict), verdict.note});
    table.add(std::move(row));
  }
  fmt::print("{}", table.text());
}

Json json_of(double number) { return std::isfinite(number) ? Json(number) : Json(nullptr); }

Json json_of(const std::vector<SettingDifference>& differences) {
  Json rows = Json::array();
  for (const SettingDifference& row : differences)
    rows.push_back({{"name", row.name}, {"a", row.a}, {"b", row.b}});
  return rows;
}

Json json_of(const record::Settings& settings) { return Json::parse(record::to_json(settings)); }

Json json_of(const ComparedCell& cell) {
  const Verdict& verdict = cell.verdict;
  return {{"settings_a", json_of(cell.a)},
          {"settings_b", json_of(cell.b)},
          {"verdict", name(verdict.outcome)},
          {"ratio", json_of(verdict.ratio)},
          {"interval", {json_of(verdict.interval.low), json_of(verdict.interval.high)}},
          {"p_value", json_of(verdict.p_value)},
          {"images_per_second_a", json_of(verdict.speed_a)},
          {"images_per_second_b", json_of(verdict.speed_b)},
          {"runs_a", verdict.runs_a},
          {"runs_b", verdict.runs_b},
          {"paired_by", name(verdict.pairing)},
          {"nodes", verdict.nodes},
          {"note", verdict.note}};
}

}  // namespace

void print_comparison(const ComparedSides& sides, const Comparison& comparison,
                      const record::VerdictOptions& options) {
  fmt::print("A: {}\nB: {}\n\n", sides.name_a, sides.name_b);
  print_cells(comparison);
  for (const UnmatchedCell& cell : comparison.unmatched)
    fmt::print("\nonly in {}: {}{}", cell.only_in_a ? 'A' : 'B', record::to_text(cell.envelope),
               cell.nearest.empty() ? "" : "; nearest differs in " + join_differences(cell.nearest));
  if (!comparison.unmatched.empty()) fmt::print("\n");
  if (const auto facts = record::fact_differences(sides.runs_a, sides.runs_b); !facts.empty())
    fmt::print("\nalso different: {}\n", join_differences(facts));
  if (comparison.without_speed_a + comparison.without_speed_b > 0)
    fmt::print("\nruns without a speed: {} of A, {} of B\n", comparison.without_speed_a,
               comparison.without_speed_b);
  fmt::print("\n{} {}: {} same, {} faster, {} slower, {} unclear; differences below {:.3g} % do not matter\n",
             comparison.cells.size(), comparison.cells.size() == 1 ? "cell" : "cells",
             comparison.count(record::Outcome::same), comparison.count(record::Outcome::faster),
             comparison.count(record::Outcome::slower), comparison.count(record::Outcome::unclear),
             100 * options.minimum_effect);
}

Json comparison_json(const ComparedSides& sides, const Comparison& comparison,
                     const record::VerdictOptions& options) {
  Json cells = Json::array(), unmatched = Json::array(), counts = Json::object();
  for (const ComparedCell& cell : comparison.cells) cells.push_back(json_of(cell));
  for (const UnmatchedCell& cell : comparison.unmatched)
    unmatched.push_back({{"only_in", cell.only_in_a ? "a" : "b"},
                         {"settings", json_of(cell.envelope)},
                         {"nearest_differs_in", json_of(cell.nearest)}});
  for (const record::Outcome outcome :
       {record::Outcome::same, record::Outcome::faster, record::Outcome::slower, record::Outcome::unclear})
    counts[name(outcome)] = comparison.count(outcome);
  return {{"a", sides.name_a},
          {"b", sides.name_b},
          {"minimum_effect", options.minimum_effect},
          {"verdicts", counts},
          {"cells", cells},
          {"not_compared", unmatched},
          {"facts_that_differ", json_of(record::fact_differences(sides.runs_a, sides.runs_b))},
          {"runs_without_speed_a", comparison.without_speed_a},
          {"runs_without_speed_b", comparison.without_speed_b}};
}

std::string why_nothing(const ComparedSides& sides, const Comparison& comparison) {
  if (static_cast<int>(sides.runs_a.size()) == comparison.without_speed_a)
    return fmt::format("no run of '{}' ended well and has a speed", sides.name_a);
  if (static_cast<int>(sides.runs_b.size()) == comparison.without_speed_b)
    return fmt::format("no run of '{}' ended well and has a speed", sides.name_b);
  const UnmatchedCell* nearest = &comparison.unmatched.front();
  for (const UnmatchedCell& cell : comparison.unmatched)
    if (cell.nearest.size() < nearest->nearest.size()) nearest = &cell;
  std::vector<std::string> names;
  for (const SettingDifference& difference : nearest->nearest) names.push_back("--across " + difference.name);
  return fmt::format("no cells agree; the nearest differ in {}; {} compares them all the same",
                     join_differences(nearest->nearest), fmt::join(names, " "));
}

}  // namespace trainyard::cli
