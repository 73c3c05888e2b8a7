#include "report/table_cells.h"

#include <fmt/core.h>

#include "report/escape.h"

namespace trainyard::report {

std::string number_cell(const char* figure, double exact, const std::string& text) {
  return fmt::format("<td class=\"num\" data-figure=\"{}\" data-value=\"{}\">{}</td>", figure, exact,
                     html_text(text));
}

std::string empty_cell(const char* figure) {
  return fmt::format("<td class=\"num none\" data-figure=\"{}\">-</td>", figure);
}

std::string run_links(const std::vector<const record::RunRecord*>& runs, const FileLinks& links) {
  constexpr std::size_t kMostRuns = 8;
  std::string html;
  const auto link = [&](const std::map<std::string, std::string>& files, const record::RunRecord& run,
                        const char* text) {
    if (const auto found = files.find(run.id); found != files.end())
      html += fmt::format("<a href=\"{}\" title=\"{}\">{}</a>", html_text(found->second), html_text(run.id),
                          text);
  };
  for (std::size_t i = 0; i < runs.size() && i < kMostRuns; ++i) {
    link(links.logs, *runs[i], runs.size() == 1 ? "log" : fmt::format("log {}", i + 1).c_str());
    link(links.record_files, *runs[i], "record");
  }
  if (!html.empty() && runs.size() > kMostRuns)
    html += fmt::format("<small>and {} more</small>", runs.size() - kMostRuns);
  return html;
}

std::string text_cell(const std::string& text) { return "<td>" + html_text(text) + "</td>"; }

}  // namespace trainyard::report
