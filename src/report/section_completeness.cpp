#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>

#include "report/escape.h"
#include "report/number_text.h"
#include "report/sections.h"

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

std::string row(const Cell& cell) {
  return fmt::format(
      "<tr data-cell=\"{}\"{}><th scope=\"row\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}</td>"
      "<td>{}</td><td class=\"num\">{}</td><td class=\"reason\">{}</td></tr>\n",
      html_text(cell.id), cell.complete() ? "" : " class=\"incomplete\"", html_text(cell.label),
      cell.expected(), cell.done.size(), badges(cell), cell.missing, reasons(cell));
}

}  // namespace

std::string completeness_section(const StudyView& view) {
  std::size_t incomplete = 0;
  for (const Cell& cell : view.cells) incomplete += cell.complete() ? 0 : 1;
  std::string html = "<section id=\"completeness\">\n<h2>Completeness</h2>\n";
  html += incomplete == 0
              ? fmt::format("<p>Nothing is lost: {} complete.</p>\n",
                            view.cells.size() == 1 ? "the only cell is"
                                                   : fmt::format("all {} cells are", view.cells.size()))
              : fmt::format("<p>{} of {} lack a run. What failed is here with its reason.</p>\n", incomplete,
                            count_text(std::ssize(view.cells), "cell"));
  html += fmt::format("<details{}><summary>Runs of every cell</summary>\n<div class=\"scroll\">\n<table>\n",
                      incomplete == 0 ? "" : " open");
  html +=
      "<thead><tr><th>cell</th><th class=\"num\">expected</th><th class=\"num\">done</th><th>failed</th>"
      "<th class=\"num\">missing</th><th>reasons</th></tr></thead>\n<tbody>\n";
  std::vector<const Cell*> cells;
  for (const Cell& cell : view.cells) cells.push_back(&cell);
  std::stable_partition(cells.begin(), cells.end(), [](const Cell* cell) { return !cell->complete(); });
  for (const Cell* cell : cells) html += row(*cell);
  return html + "</tbody>\n</table>\n</div>\n</details>\n</section>\n";
}

}  // namespace trainyard::report
