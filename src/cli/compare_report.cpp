#include "base/json.h"
#include "base/text.h"
#include "cli/compare.h"

#include <cctype>

#include "cli/study.h"
#include "cli/text_table.h"
#include "study/cell/settings.h"

namespace trainyard::cli {
namespace {

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
  return joined(texts, ", ");
}

std::string pairing_text(const Verdict& verdict) {
  const std::string runs = fmt::format("{} + {} runs", verdict.runs_a, verdict.runs_b);
  switch (verdict.pairing) {
    case record::Pairing::nodes:
      return fmt::format("{}, within {} nodes", runs, verdict.nodes);
    case record::Pairing::runs:
      return runs;
    case record::Pairing::distances:
      return fmt::format("{}, at equal distances of the cores", runs);
    case record::Pairing::node_levels:
      return fmt::format("{}, over {} nodes", runs, verdict.nodes);
    case record::Pairing::steps:
      return fmt::format("{}, their steps", runs);
  }
  return runs;
}

// "4", or "1 -> 2" where the sides differ.
std::string cell_text(const ComparedCell& cell, const std::string& name) {
  const std::string a = study::setting_text(cell.a, name), b = study::setting_text(cell.b, name);
  return a == b ? a : fmt::format("{} -> {}", a, b);
}

std::string bound_text(double bound) { return std::isfinite(bound) ? fmt::format("{:.3f}", bound) : "?"; }

const char* outcome_text(record::Outcome outcome, const record::Metric& metric) {
  switch (outcome) {
    case record::Outcome::same:
      return "SAME";
    case record::Outcome::better:
      return metric.better();
    case record::Outcome::worse:
      return metric.worse();
    case record::Outcome::unclear:
      return "UNCLEAR";
  }
  return "";
}

void print_cells(const ComparedSides& sides, const Comparison& comparison, const record::Metric& metric) {
  std::vector<const record::Settings*> envelopes;
  for (const ComparedCell& cell : comparison.cells) envelopes.insert(envelopes.end(), {&cell.a, &cell.b});
  std::vector<std::string> names = varying_settings(envelopes);
  if (!sides.across.contains("build")) std::erase(names, "build");  // the sides' names have it
  if (names.empty()) names = {"network", "batch"};
  std::vector<std::string> head = names;
  const std::string unit = metric.name == record::kQuietSpeed     ? "quiet images/s"
                           : metric.name == record::Metric().name ? "images/s"
                                                                  : metric.name;
  head.insert(head.end(), {"A " + unit, "B " + unit, "B / A", "95 % interval", "verdict", "from", "note"});
  TextTable table(head);
  for (const ComparedCell& cell : comparison.cells) {
    const Verdict& verdict = cell.verdict;
    std::vector<std::string> row;
    for (const std::string& name : names) row.push_back(cell_text(cell, name));
    row.insert(
        row.end(),
        {four_digits(verdict.value_a), four_digits(verdict.value_b), fmt::format("{:.3f}", verdict.ratio),
         fmt::format("{} .. {}", bound_text(verdict.interval.low), bound_text(verdict.interval.high)),
         outcome_text(verdict.outcome, metric), pairing_text(verdict), verdict.note});
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

Json json_of(const record::Settings& settings) { return parse_json(record::to_json(settings)); }

Json json_of(const ComparedCell& cell, const record::Metric& metric) {
  const Verdict& verdict = cell.verdict;
  return {{"settings_a", json_of(cell.a)},
          {"settings_b", json_of(cell.b)},
          {"verdict", outcome_text(verdict.outcome, metric)},
          {"ratio", json_of(verdict.ratio)},
          {"interval", {json_of(verdict.interval.low), json_of(verdict.interval.high)}},
          {"p_value", json_of(verdict.p_value)},
          {"value_a", json_of(verdict.value_a)},
          {"value_b", json_of(verdict.value_b)},
          {"runs_a", verdict.runs_a},
          {"runs_b", verdict.runs_b},
          {"paired_by", name(verdict.pairing)},
          {"nodes", verdict.nodes},
          {"note", verdict.note}};
}

// Few cells one by one; many by what keeps them from being compared, the most frequent first.
void print_unmatched(const std::vector<UnmatchedCell>& unmatched, bool only_in_a) {
  constexpr std::size_t kMostLines = 5;
  const char side = only_in_a ? 'A' : 'B';
  std::vector<const UnmatchedCell*> cells;
  std::map<std::string, int> by_names;
  for (const UnmatchedCell& cell : unmatched) {
    if (cell.only_in_a != only_in_a) continue;
    cells.push_back(&cell);
    std::vector<std::string> names;
    for (const SettingDifference& difference : cell.nearest) names.push_back(difference.name);
    ++by_names[names.empty() ? "everything" : joined(names, ", ")];
  }
  if (cells.empty()) return;
  if (cells.size() <= kMostLines) {
    for (const UnmatchedCell* cell : cells)
      fmt::print("\nonly in {}: {}{}", side, record::to_text(cell->envelope),
                 cell->nearest.empty() ? "" : "; nearest differs in " + join_differences(cell->nearest));
    fmt::print("\n");
    return;
  }
  std::vector<std::pair<std::string, int>> groups(by_names.begin(), by_names.end());
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& x, const auto& y) { return x.second > y.second; });
  fmt::print("\nonly in {}: {} cells (--json lists them)\n", side, cells.size());
  for (std::size_t i = 0; i < std::min(groups.size(), kMostLines); ++i)
    fmt::print("  {} of them: the nearest of the other side differs in {}\n", groups[i].second,
               groups[i].first);
}

}  // namespace

void print_comparison(const ComparedSides& sides, const Comparison& comparison, const record::Metric& metric,
                      const record::VerdictOptions& options) {
  fmt::print("A: {}\nB: {}\n\n", sides.name_a, sides.name_b);
  print_cells(sides, comparison, metric);
  print_unmatched(comparison.unmatched, true);
  print_unmatched(comparison.unmatched, false);
  if (const auto facts = record::fact_differences(sides.runs_a, sides.runs_b); !facts.empty())
    fmt::print("\nalso different: {}\n", join_differences(facts));
  if (comparison.without_value_a + comparison.without_value_b > 0)
    fmt::print("\nruns without {}: {} of A, {} of B\n", metric.name, comparison.without_value_a,
               comparison.without_value_b);
  const auto count = [&](record::Outcome outcome) {
    std::string word = outcome_text(outcome, metric);
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
    return fmt::format("{} {}", comparison.count(outcome), word);
  };
  fmt::print("\n{} {}: {}, {}, {}, {}; differences below {:.3g} % do not matter\n", comparison.cells.size(),
             comparison.cells.size() == 1 ? "cell" : "cells", count(record::Outcome::same),
             count(record::Outcome::better), count(record::Outcome::worse), count(record::Outcome::unclear),
             100 * options.minimum_effect);
}

Json comparison_json(const ComparedSides& sides, const Comparison& comparison, const record::Metric& metric,
                     const record::VerdictOptions& options) {
  Json cells = Json::array(), unmatched = Json::array(), counts = Json::object();
  for (const ComparedCell& cell : comparison.cells) cells.push_back(json_of(cell, metric));
  for (const UnmatchedCell& cell : comparison.unmatched)
    unmatched.push_back({{"only_in", cell.only_in_a ? "a" : "b"},
                         {"settings", json_of(cell.envelope)},
                         {"nearest_differs_in", json_of(cell.nearest)}});
  for (const record::Outcome outcome :
       {record::Outcome::same, record::Outcome::better, record::Outcome::worse, record::Outcome::unclear})
    counts[outcome_text(outcome, metric)] = comparison.count(outcome);
  return {{"a", sides.name_a},
          {"b", sides.name_b},
          {"metric", metric.name},
          {"accuracy", metric.accuracy ? Json(*metric.accuracy) : Json(nullptr)},
          {"minimum_effect", options.minimum_effect},
          {"verdicts", counts},
          {"cells", cells},
          {"not_compared", unmatched},
          {"facts_that_differ", json_of(record::fact_differences(sides.runs_a, sides.runs_b))},
          {"runs_without_metric_a", comparison.without_value_a},
          {"runs_without_metric_b", comparison.without_value_b}};
}

std::string why_nothing(const ComparedSides& sides, const Comparison& comparison,
                        const record::Metric& metric) {
  if (static_cast<int>(sides.runs_a.size()) == comparison.without_value_a)
    return fmt::format("no run of '{}' ended well and has {}", sides.name_a, metric.name);
  if (static_cast<int>(sides.runs_b.size()) == comparison.without_value_b)
    return fmt::format("no run of '{}' ended well and has {}", sides.name_b, metric.name);
  const UnmatchedCell* nearest = &comparison.unmatched.front();
  for (const UnmatchedCell& cell : comparison.unmatched)
    if (cell.nearest.size() < nearest->nearest.size()) nearest = &cell;
  std::vector<std::string> names;
  for (const SettingDifference& difference : nearest->nearest) names.push_back("--across " + difference.name);
  return fmt::format("no cells agree; the nearest differ in {}; {} compares them all the same",
                     join_differences(nearest->nearest), joined(names, " "));
}

}  // namespace trainyard::cli
