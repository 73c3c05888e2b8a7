#include <algorithm>

#include <fmt/core.h>

#include "report/escape.h"
#include "report/number_text.h"
#include "report/prediction/eval_sections.h"
#include "report/table_cells.h"

namespace trainyard::report {
namespace {

using predict::Judged;

constexpr std::size_t kLargestErrors = 15;

std::string count_cell(const char* figure, std::size_t count) {
  return number_cell(figure, static_cast<double>(count), fmt::format("{}", count));
}

std::string memory_cells(const predict::Score& score) {
  if (score.memory_runs == 0) return empty_cell("memory_mape") + empty_cell("memory_median");
  return number_cell("memory_mape", score.memory_mape, percent_text(score.memory_mape)) +
         number_cell("memory_median", score.memory_median, percent_text(score.memory_median));
}

std::string score_row(const std::string& name, const predict::Score& score, bool intervals) {
  std::string html = fmt::format("<tr><th scope=\"row\">{}</th>", html_text(name));
  html += count_cell("runs", score.runs);
  const auto share = [&](const char* figure, double value) {
    html += score.runs == 0 ? empty_cell(figure) : number_cell(figure, value, percent_text(value));
  };
  share("mape", score.mape);
  share("median", score.median);
  share("p95", score.p95);
  html += score.runs == 0 ? empty_cell("spearman")
                          : number_cell("spearman", score.spearman, fmt::format("{:.3f}", score.spearman));
  if (intervals)
    share("coverage", score.coverage);
  else
    html += empty_cell("coverage");
  return html + count_cell("oom", score.oom) + count_cell("oom_missed", score.oom_missed) +
         count_cell("oom_false", score.oom_false) + memory_cells(score) + "</tr>\n";
}

std::string score_table(const std::string& what, const predict::NamedScores& scores, bool intervals) {
  if (scores.empty()) return "";
  std::string html = fmt::format(
      "<div class=\"scroll\">\n<table class=\"sortable\" data-scores=\"{0}\">\n<thead><tr><th>{0}</th>"
      "<th class=\"num\">runs</th><th class=\"num\">MAPE<br><small>mean error</small></th>"
      "<th class=\"num\">median<br><small>error</small></th><th class=\"num\">95 %<br><small>stay "
      "below</small></th>"
      "<th class=\"num\">Spearman<br><small>order kept</small></th>"
      "<th class=\"num\">in interval<br><small>of 90 %</small></th>"
      "<th class=\"num\">out of memory<br><small>runs</small></th><th class=\"num\">missed</th>"
      "<th class=\"num\">false<br><small>alarms</small></th>"
      "<th class=\"num\">memory<br><small>MAPE</small></th>"
      "<th class=\"num\">memory<br><small>median error</small></th></tr></thead>\n<tbody>\n",
      html_text(what));
  for (const auto& [name, score] : scores) html += score_row(name, score, intervals);
  return html + "</tbody>\n</table>\n</div>\n<br>\n";
}

std::string run_cells(const PredictedRun& run) {
  return text_cell(run.network) + text_cell(run.device) +
         number_cell("batch", static_cast<double>(run.batch), fmt::format("{}", run.batch)) +
         text_cell(run.optimizer) + number_cell("epochs", run.epochs, fmt::format("{}", run.epochs)) +
         text_cell(run.dataset);
}

}  // namespace

std::string scores_section(const EvalView& view) {
  const bool intervals = has_intervals(view);
  std::string html = "<section id=\"scores\">\n<h2>Scores</h2>\n";
  html += score_table("held out", view.held_out, intervals);
  html += score_table("all", {{"all", predict::score(view.judged)}}, intervals);
  if (!families_of(view).empty()) html += score_table("family", family_scores(view), intervals);
  html += score_table("device", device_scores(view), intervals);
  html += score_table("network", network_scores(view), intervals);
  if (!view.skipped.empty()) {
    html += "<ul>\n";
    for (const auto& [name, count] : view.skipped)
      html += fmt::format("<li>Left out: {} of {}, which is unknown.</li>\n", count_text(count, "run"),
                          html_text(name));
    html += "</ul>\n";
  }
  return html + "</section>\n";
}

std::string largest_errors_section(const EvalView& view) {
  std::vector<const Judged*> worst;
  for (const Judged& one : view.judged)
    if (!one.oom) worst.push_back(&one);
  if (worst.empty()) return "";
  std::stable_sort(worst.begin(), worst.end(),
                   [](const Judged* a, const Judged* b) { return a->error() > b->error(); });
  worst.resize(std::min(worst.size(), kLargestErrors));
  std::string html =
      "<section id=\"largest-errors\">\n<h2>Largest errors</h2>\n<div class=\"scroll\">\n<table "
      "class=\"sortable\">\n<thead><tr><th>network</th><th>device</th><th class=\"num\">batch</th>"
      "<th>optimizer</th><th class=\"num\">epochs</th><th>data</th><th class=\"num\">measured, s</th>"
      "<th class=\"num\">predicted, s</th><th class=\"num\">90 % interval, s</th><th class=\"num\">error</th>"
      "</tr></thead>\n<tbody>\n";
  for (const Judged* one : worst) {
    html += "<tr>" + run_cells(view.run(*one));
    html += number_cell("measured", one->measured, number_text(one->measured));
    html += number_cell("predicted", one->predicted, number_text(one->predicted));
    html += has_interval(*one)
                ? number_cell("low", one->low,
                              fmt::format("{} to {}", number_text(one->low), number_text(one->high)))
                : empty_cell("low");
    const double error = one->predicted / one->measured - 1;
    html += number_cell("error", error, fmt::format("{:+.1f} %", 100 * error)) + "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</div>\n</section>\n";
}

}  // namespace trainyard::report
