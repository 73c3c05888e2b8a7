#include <algorithm>
#include <limits>
#include <map>

#include <fmt/core.h>

#include "report/page.h"
#include "report/sections.h"
#include "report/text.h"

namespace trainyard::report {
namespace {

struct Totals {
  long long expected = 0, done = 0, missing = 0, failed = 0, complete_cells = 0, warnings = 0,
            warned_runs = 0;
  std::map<std::string, int> failed_by_class;
  const CellView* fastest = nullptr;
};

Totals total(const StudyView& view) {
  Totals sum;
  for (const CellView& cell : view.cells) {
    sum.expected += cell.expected();
    sum.done += std::ssize(cell.done);
    sum.missing += cell.missing;
    sum.failed += std::ssize(cell.failed);
    sum.complete_cells += cell.complete() ? 1 : 0;
    for (const record::RunRecord* run : cell.failed) ++sum.failed_by_class[name(run->status)];
    if (cell.throughput.runs > 0 &&
        (sum.fastest == nullptr || cell.throughput.centre() > sum.fastest->throughput.centre()))
      sum.fastest = &cell;
  }
  for (const record::RunRecord& run : view.runs) {
    sum.warnings += std::ssize(run.warnings);
    sum.warned_runs += run.warnings.empty() ? 0 : 1;
  }
  return sum;
}

std::string interval_text(const CellThroughput& speed) {
  if (!speed.has_interval()) return "one run, so without an interval";
  return fmt::format("95 % interval {} to {} over {} runs", number_text(speed.interval.low),
                     number_text(speed.interval.high), speed.runs);
}

std::string in_words(const Totals& sum) {
  std::string text = sum.done == sum.expected
                         ? fmt::format("All {} are done.", count_text(sum.expected, "run"))
                         : fmt::format("{} of {} are done", sum.done, count_text(sum.expected, "run"));
  if (sum.done != sum.expected) {
    std::string classes;
    for (const auto& [status, count] : sum.failed_by_class)
      classes += fmt::format("{}{} {}", classes.empty() ? "" : ", ", count, status);
    if (sum.failed > 0) text += fmt::format("; {} failed ({})", sum.failed, classes);
    if (sum.missing > 0) text += fmt::format("; {} missing", sum.missing);
    text += ".";
  }
  if (sum.fastest != nullptr)
    text +=
        fmt::format(" The highest throughput is that of {}: {} images/s ({}).", sum.fastest->label,
                    number_text(sum.fastest->throughput.centre()), interval_text(sum.fastest->throughput));
  text += sum.warnings == 0
              ? " No run carries a warning."
              : fmt::format(" {} in {} make figures less trustworthy.", count_text(sum.warnings, "warning"),
                            count_text(sum.warned_runs, "run"));
  return text;
}

std::string when(const StudyView& view, double made_seconds) {
  double first = std::numeric_limits<double>::infinity(), last = 0;
  for (const record::RunRecord& run : view.runs) {
    if (run.started_seconds <= 0) continue;
    first = std::min(first, run.started_seconds);
    last = std::max(last, run.started_seconds + run.wall_seconds);
  }
  const std::string made = fmt::format("report made {} UTC", time_text(made_seconds));
  if (last == 0) return made;
  return fmt::format("runs from {} to {}, {}", time_text(first), time_text(last), made);
}

}  // namespace

namespace {

std::vector<Link> links_of(const StudyView& view) {
  std::vector<Link> links{
      {"#completeness", "Completeness"}, {"#results", "Results"},   {"#charts", "Charts"},
      {"#provenance", "Provenance"},     {"#warnings", "Warnings"}, {"#method", "Method"}};
  if (!view.links.spec.empty()) links.push_back({view.links.spec, "study.yaml"});
  if (!view.links.store.empty()) links.push_back({view.links.store, "store.sqlite"});
  if (!view.links.records.empty()) links.push_back({view.links.records, "records"});
  return links;
}

}  // namespace

std::string header_section(const StudyView& view, double made_seconds) {
  const Totals sum = total(view);
  return header_html(
      {"Trainyard study",
       view.name.empty() ? "Unnamed study" : view.name,
       when(view, made_seconds),
       in_words(sum),
       {{fmt::format("{} / {}", sum.done, sum.expected), "runs done", sum.done != sum.expected},
        {fmt::format("{} / {}", sum.complete_cells, view.cells.size()), "cells complete",
         sum.complete_cells != std::ssize(view.cells)},
        {sum.fastest == nullptr ? "-" : number_text(sum.fastest->throughput.centre()),
         "images/s, fastest cell"},
        {fmt::format("{}", sum.warnings), "warnings", sum.warnings > 0}},
       record::to_text(view.common),
       links_of(view)});
}

}  // namespace trainyard::report
