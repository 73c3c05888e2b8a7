#include <fmt/core.h>

#include "base/units.h"
#include "report/escape.h"
#include "report/placement/placement_sections.h"
#include "report/table_cells.h"

namespace trainyard::report {
namespace {

std::string time_cell(const char* figure, double seconds) {
  return number_cell(figure, seconds, seconds == 0 ? "0" : format_seconds(seconds));
}

std::string family_cell(const PlacementView& view, std::size_t job) {
  return text_cell(view.family(job) == "other" ? "-" : view.family(job));
}

std::string placed_row(const PlacementView& view, const place::Decision& decision) {
  const place::Job& job = view.job(decision);
  const place::Option& option = job.options[view.slot(decision).kind];
  return fmt::format("<tr{}><th scope=\"row\">{}</th>", decision.out_of_memory ? " class=\"differs\"" : "",
                     html_text(job.name)) +
         family_cell(view, decision.job) + text_cell(view.slot(decision).name) +
         time_cell("arrival", job.arrival_seconds) +
         time_cell("waited", decision.start_seconds - job.arrival_seconds) +
         time_cell("predicted", option.seconds) +
         time_cell("ran", decision.end_seconds - decision.start_seconds) +
         time_cell("end", decision.end_seconds) +
         fmt::format("<td class=\"reason\">{}{}</td></tr>\n", html_text(decision.reason),
                     decision.out_of_memory ? " <span class=\"badge\">out of memory</span>" : "");
}

std::string unplaced_row(const PlacementView& view, std::size_t job) {
  std::string html = fmt::format("<tr class=\"incomplete\"><th scope=\"row\">{}</th>",
                                 html_text(view.problem.jobs[job].name)) +
                     family_cell(view, job) + text_cell("nowhere") +
                     time_cell("arrival", view.problem.jobs[job].arrival_seconds);
  for (const char* figure : {"waited", "predicted", "ran", "end"}) html += empty_cell(figure);
  return html + "<td class=\"reason\">it fits into the memory of no device</td></tr>\n";
}

}  // namespace

std::string placed_jobs_section(const PlacementView& view) {
  if (!view.outcome) return "";
  std::string html =
      "<section id=\"jobs\">\n<h2>Jobs</h2>\n<div class=\"scroll\">\n<table class=\"sortable\">\n<thead><tr>"
      "<th>job</th><th>family</th><th>device</th><th class=\"num\">arrived<br><small>after</small></th>"
      "<th class=\"num\">waited</th><th class=\"num\">predicted</th><th class=\"num\">ran</th>"
      "<th class=\"num\">ended<br><small>after</small></th><th>why there</th></tr></thead>\n<tbody>\n";
  for (const place::Decision& decision : view.outcome->decisions) html += placed_row(view, decision);
  for (const std::size_t job : view.outcome->unplaced) html += unplaced_row(view, job);
  return html + "</tbody>\n</table>\n</div>\n</section>\n";
}

}  // namespace trainyard::report
