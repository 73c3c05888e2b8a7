#include <algorithm>
#include <tuple>

#include <fmt/core.h>

#include "predict/time_model.h"
#include "report/number_text.h"
#include "report/prediction/eval_sections.h"
#include "report/table_cells.h"

namespace trainyard::report {
namespace {

using predict::Judged;

// Runs that need the same memory, and ended alike.
struct MemoryCase {
  std::size_t runs = 0;
  double least = 1, most = 0;  // probability of running out of memory
};
// Device, network, batch, optimizer, ended out of memory, foreseen.
using MemoryKey = std::tuple<std::string, std::string, std::int64_t, std::string, bool, bool>;

const char* verdict(bool oom, bool foreseen) {
  if (oom) return foreseen ? "foreseen" : "missed";
  return foreseen ? "false alarm" : "well";
}

std::string probability_text(const MemoryCase& one) {
  const auto text = [](double value) { return fmt::format("{:.0f} %", 100 * value); };
  return text(one.least) == text(one.most) ? text(one.most)
                                           : fmt::format("{} to {}", text(one.least), text(one.most));
}

}  // namespace

std::string memory_section(const EvalView& view) {
  std::map<MemoryKey, MemoryCase> cases;
  std::size_t count[2][2] = {};  // by end, by what was foreseen
  for (const Judged& one : view.judged) {
    const bool foreseen = one.oom_probability >= predict::kLikelyOom;
    ++count[one.oom][foreseen];
    if (!one.oom && !foreseen) continue;
    const PredictedRun& run = view.run(one);
    MemoryCase& at = cases[{run.device, run.network, run.batch, run.optimizer, one.oom, foreseen}];
    ++at.runs;
    at.least = std::min(at.least, one.oom_probability);
    at.most = std::max(at.most, one.oom_probability);
  }
  const auto counted = [](const char* figure, std::size_t number) {
    return number_cell(figure, static_cast<double>(number), fmt::format("{}", number));
  };
  std::string html =
      "<section id=\"memory\">\n<h2>Out of memory</h2>\n<div class=\"scroll\">\n<table>\n<thead><tr><th>runs "
      "that ended</th>"
      "<th class=\"num\">foreseen to run out of memory</th><th class=\"num\">foreseen to "
      "fit</th></tr></thead>\n"
      "<tbody>\n<tr><th scope=\"row\">out of memory</th>" +
      counted("foreseen", count[1][1]) + counted("missed", count[1][0]) +
      "</tr>\n<tr><th scope=\"row\">well</th>" + counted("false", count[0][1]) +
      counted("well", count[0][0]) + "</tr>\n</tbody>\n</table>\n</div>\n";
  if (cases.empty()) return html + "</section>\n";
  html +=
      "<br>\n<div class=\"scroll\">\n<table class=\"sortable\">\n<thead><tr><th>device</th><th>network</th>"
      "<th class=\"num\">batch</th><th>optimizer</th><th class=\"num\">runs</th><th>ended</th>"
      "<th class=\"num\">probability<br><small>of running out of memory</small></th><th></th></tr></thead>\n"
      "<tbody>\n";
  for (const auto& [key, one] : cases) {
    const auto& [device, network, batch, optimizer, oom, foreseen] = key;
    const bool wrong = oom != foreseen;
    html += fmt::format("<tr{}>", wrong ? " class=\"differs\"" : "") + text_cell(device) +
            text_cell(network) + number_cell("batch", static_cast<double>(batch), fmt::format("{}", batch)) +
            text_cell(optimizer) + counted("runs", one.runs) + text_cell(oom ? "out of memory" : "well") +
            number_cell("probability", one.most, probability_text(one)) +
            (wrong ? fmt::format("<td><span class=\"badge\">{}</span></td>", verdict(oom, foreseen))
                   : text_cell(verdict(oom, foreseen))) +
            "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</div>\n</section>\n";
}

}  // namespace trainyard::report
