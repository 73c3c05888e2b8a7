#include <fmt/core.h>

#include "base/units.h"
#include "report/escape.h"
#include "report/number_text.h"
#include "report/placement/placement_sections.h"
#include "report/table_cells.h"

namespace trainyard::report {
namespace {

std::string seconds_cell(const char* figure, double seconds) {
  return number_cell(figure, seconds, seconds == 0 ? "0" : format_seconds(seconds));
}

}  // namespace

std::string policies_section(const PlacementView& view) {
  std::string html =
      "<section id=\"policies\">\n<h2>Policies</h2>\n<div class=\"scroll\">\n<table class=\"sortable\">\n"
      "<thead><tr><th>policy</th><th>what it does</th><th class=\"num\">mean JCT</th><th "
      "class=\"num\">makespan</th>"
      "<th class=\"num\">utilisation</th><th class=\"num\">out of "
      "memory<br><small>jobs</small></th></tr></thead>\n"
      "<tbody>\n";
  for (const PolicyFigures& one : view.policies) {
    html += fmt::format("<tr><th scope=\"row\">{}</th>", html_text(one.name));
    if (!one.left_out.empty()) {
      html += fmt::format("<td class=\"reason\">left out: {}</td>", html_text(one.left_out));
      for (const char* figure : {"jct", "makespan", "utilisation", "oom"}) html += empty_cell(figure);
    } else {
      html += text_cell(one.description) + seconds_cell("jct", one.mean_completion_seconds) +
              seconds_cell("makespan", one.makespan_seconds) +
              number_cell("utilisation", one.utilisation, percent_text(one.utilisation)) +
              number_cell("oom", one.out_of_memory, number_text(one.out_of_memory));
    }
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</div>\n</section>\n";
}

std::string devices_section(const PlacementView& view) {
  if (!view.outcome) return "";
  const std::size_t count = view.problem.slots.size();
  std::vector<double> busy(count, 0.0);
  std::vector<std::size_t> jobs(count, 0);
  for (const place::Decision& decision : view.outcome->decisions) {
    busy[decision.slot] += decision.end_seconds - decision.start_seconds;
    ++jobs[decision.slot];
  }
  std::string html =
      "<section id=\"devices\">\n<h2>Devices</h2>\n<div class=\"scroll\">\n<table "
      "class=\"sortable\">\n<thead><tr><th>device</th><th>kind</th>"
      "<th class=\"num\">jobs</th><th class=\"num\">busy</th><th class=\"num\">of the makespan</th>"
      "<th class=\"num\">energy, kWh</th><th class=\"num\">price</th></tr></thead>\n<tbody>\n";
  for (std::size_t s = 0; s < count; ++s) {
    const place::Slot& slot = view.problem.slots[s];
    const predict::Device& device = view.problem.kinds[slot.kind];
    html += "<tr>" + text_cell(slot.name) + text_cell(device.name) +
            number_cell("jobs", static_cast<double>(jobs[s]), fmt::format("{}", jobs[s])) +
            seconds_cell("busy", busy[s]);
    const double makespan = view.outcome->makespan_seconds, hours = busy[s] / 3600;
    html += makespan > 0 ? number_cell("share", busy[s] / makespan, percent_text(busy[s] / makespan))
                         : empty_cell("share");
    html += device.watts > 0
                ? number_cell("energy", hours * device.watts / 1000, number_text(hours * device.watts / 1000))
                : empty_cell("energy");
    html += device.price_per_hour > 0 ? number_cell("price", hours * device.price_per_hour,
                                                    number_text(hours * device.price_per_hour))
                                      : empty_cell("price");
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</div>\n</section>\n";
}

}  // namespace trainyard::report
