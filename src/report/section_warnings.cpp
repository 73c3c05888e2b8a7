#include <map>

#include <fmt/core.h>

#include "report/escape.h"
#include "report/number_text.h"
#include "report/sections.h"

namespace trainyard::report {

namespace {

// Its id, as a link to its log where there is one.
std::string run_name(const record::RunRecord& run, const FileLinks& links) {
  const auto log = links.logs.find(run.id);
  if (log == links.logs.end()) return html_text(run.id);
  return fmt::format("<a href=\"{}\">{}</a>", html_text(log->second), html_text(run.id));
}

}  // namespace

std::string warnings_section(const StudyView& view) {
  struct Warned {
    const record::RunRecord* run;
    const std::string* text;
  };
  std::map<std::string, std::vector<Warned>> kinds;
  for (const record::RunRecord& run : view.runs)
    for (const record::Warning& warning : run.warnings) kinds[warning.kind].push_back({&run, &warning.text});
  std::string html = "<section id=\"warnings\">\n<h2>Warnings</h2>\n";
  if (kinds.empty()) return html + "<p>None.</p>\n</section>\n";
  std::map<std::string, std::string> labels;
  for (const Cell& cell : view.cells) labels[cell.id] = cell.label;
  for (const auto& [kind, list] : kinds) {
    html +=
        fmt::format("<details><summary><span class=\"badge\">{}</span> {}: {}</summary>\n<ul>\n",
                    html_text(kind), count_text(std::ssize(list), "warning"), html_text(*list.front().text));
    for (const Warned& warned : list)
      html += fmt::format(
          "<li>{} <small>{}, {}</small></li>\n", html_text(*warned.text),
          html_text(labels.contains(warned.run->cell) ? labels.at(warned.run->cell) : warned.run->command),
          run_name(*warned.run, view.links));
    html += "</ul></details>\n";
  }
  return html + "</section>\n";
}

}  // namespace trainyard::report
