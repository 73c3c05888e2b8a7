#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include <fmt/core.h>

#include "report/escape.h"
#include "report/number_text.h"
#include "report/sections.h"
#include "report/table_cells.h"

namespace trainyard::report {
namespace {

std::string badges(const Cell& cell) {
  std::map<record::Status, int> classes;
  for (const record::RunRecord* run : cell.failed) ++classes[run->status];
  std::string html;
  for (const auto& [status, count] : classes)
    html += fmt::format("<span class=\"badge\">{} {}</span> ", count, name(status));
  return html;
}

std::string reasons(const Cell& cell) {
  std::set<std::string> texts;
  for (const record::RunRecord* run : cell.failed) texts.insert(run->reason);
  std::string html;
  for (const std::string& text : texts) html += fmt::format("<div>{}</div>", html_text(text));
  return html;
}

std::string completeness_row(const Cell& cell, const FileLinks& links) {
  return fmt::format(
      "<tr data-cell=\"{}\"{}><th scope=\"row\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}</td>"
      "<td>{}</td><td class=\"num\">{}</td><td class=\"reason\">{} <span "
      "class=\"runs\">{}</span></td></tr>\n",
      html_text(cell.id), cell.complete() ? "" : " class=\"incomplete\"", html_text(cell.label),
      cell.expected(), cell.done.size(), badges(cell), cell.missing, reasons(cell),
      run_links(cell.failed, links));
}

// Runs that failed alike: reasons that differ in numbers alone (of jobs, times, bytes) are one.
struct Failure {
  record::Status status;
  std::string reason;  // of the first
  std::vector<const record::RunRecord*> runs;
  std::vector<std::string> cells;  // labels
};

std::vector<Failure> failures_of(const StudyView& view) {
  std::map<std::pair<record::Status, std::string>, Failure> kinds;
  for (const Cell& cell : view.cells)
    for (const record::RunRecord* run : cell.failed) {
      std::string plain;
      for (const char c : run->reason)
        if (std::isdigit(static_cast<unsigned char>(c)) == 0)
          plain += c;
        else if (!plain.ends_with('#'))
          plain += '#';
      Failure& kind =
          kinds.try_emplace({run->status, plain}, Failure{run->status, run->reason, {}, {}}).first->second;
      kind.runs.push_back(run);
      if (kind.cells.empty() || kind.cells.back() != cell.label) kind.cells.push_back(cell.label);
    }
  std::vector<Failure> failures;
  for (auto& [key, kind] : kinds) failures.push_back(std::move(kind));
  std::stable_sort(failures.begin(), failures.end(),
                   [](const Failure& a, const Failure& b) { return a.runs.size() > b.runs.size(); });
  return failures;
}

std::string failure_table(const StudyView& view, const std::vector<Failure>& failures) {
  std::string html =
      "<div class=\"scroll\">\n<table class=\"sortable\">\n<thead><tr><th>ended</th><th "
      "class=\"num\">runs</th>"
      "<th>reason</th><th>cells</th></tr></thead>\n<tbody>\n";
  for (const Failure& failure : failures) {
    std::string cells;
    for (const std::string& cell : failure.cells) cells += fmt::format("<li>{}</li>", html_text(cell));
    html += fmt::format(
        "<tr><td><span class=\"badge\">{}</span></td><td class=\"num\" data-value=\"{}\">{}</td>"
        "<td class=\"reason\">{} <span class=\"runs\">{}</span></td>"
        "<td><details><summary>{}</summary><ul>{}</ul></details></td></tr>\n",
        name(failure.status), failure.runs.size(), failure.runs.size(), html_text(failure.reason),
        run_links(failure.runs, view.links), count_text(std::ssize(failure.cells), "cell"), cells);
  }
  return html + "</tbody>\n</table>\n</div>\n";
}

}  // namespace

std::string completeness_section(const StudyView& view) {
  constexpr std::size_t kFewCells = 12;
  std::size_t incomplete = 0;
  for (const Cell& cell : view.cells) incomplete += cell.complete() ? 0 : 1;
  std::string html = "<section id=\"completeness\">\n<h2>Completeness</h2>\n";
  html += incomplete == 0
              ? fmt::format("<p>Nothing is lost: {} complete.</p>\n",
                            view.cells.size() == 1 ? "the only cell is"
                                                   : fmt::format("all {} cells are", view.cells.size()))
              : fmt::format("<p>{} of {} lack a run. What failed is here with its reason.</p>\n", incomplete,
                            count_text(std::ssize(view.cells), "cell"));
  // Long lists of cells say less than the kinds of failures.
  const std::vector<Failure> failures = failures_of(view);
  const bool by_kind = incomplete > kFewCells && !failures.empty();
  if (by_kind) html += failure_table(view, failures);
  // Thousands of complete cells are in the results already.
  const bool all = view.cells.size() <= kMostCells;
  if (!all && incomplete == 0) return html + "</section>\n";
  html += fmt::format(
      "<details{}><summary>Runs of every {}cell</summary>\n<div class=\"scroll\">\n<table "
      "class=\"sortable\">\n",
      incomplete == 0 || by_kind ? "" : " open", all ? "" : "incomplete ");
  html +=
      "<thead><tr><th>cell</th><th class=\"num\">expected</th><th class=\"num\">done</th><th>failed</th>"
      "<th class=\"num\">missing</th><th>reasons</th></tr></thead>\n<tbody>\n";
  std::vector<const Cell*> cells;
  for (const Cell& cell : view.cells) cells.push_back(&cell);
  std::stable_partition(cells.begin(), cells.end(), [](const Cell* cell) { return !cell->complete(); });
  for (const Cell* cell : cells)
    if (all || !cell->complete()) html += completeness_row(*cell, view.links);
  return html + "</tbody>\n</table>\n</div>\n</details>\n</section>\n";
}

}  // namespace trainyard::report
