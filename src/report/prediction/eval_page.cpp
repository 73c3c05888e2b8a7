#include "report/prediction/eval_page.h"

#include "report/page.h"
#include "report/sections.h"
#include "report/text.h"

namespace trainyard::report {

namespace {

constexpr const char* kMethod = R"(<section id="method">
<h2>How the numbers are made</h2>
<ul>
<li>An <b>error</b> is |predicted - measured| / measured of a run's seconds. Runs out of memory have no time to be compared;
they are judged by whether it was foreseen.</li>
<li>The <b>90 % interval</b> of a prediction was calibrated by runs that the model had not learned from. <b>In interval</b>
is the share of runs whose measured seconds lie within.</li>
<li><b>Spearman</b> is the correlation of ranks: 1 where the order of runs is predicted without a mistake.</li>
<li>A run is <b>foreseen</b> to run out of memory where the probability is a half or more.</li>
<li>Parts of several trials, such as seeds, are judged together; of what was held out the table has means over trials.</li>
</ul>
</section>
)";

std::string memory_words(const predict::Score& score) {
  if (score.oom == 0 && score.oom_false == 0) return "";
  return fmt::format(" {} of {} out of memory {} foreseen, with {}.", score.oom - score.oom_missed,
                     count_text(static_cast<long long>(score.oom), "run"), score.oom == 1 ? "was" : "were",
                     count_text(static_cast<long long>(score.oom_false), "false alarm"));
}

std::string eval_in_words(const EvalView& view, const predict::Score& all) {
  std::set<std::string> networks, devices;
  for (const predict::Judged& one : view.judged) {
    networks.insert(view.run(one).network);
    devices.insert(view.run(one).device);
  }
  std::string text =
      fmt::format("{} of {} on {}. ", count_text(static_cast<long long>(view.judged.size()), "prediction"),
                  count_text(static_cast<long long>(networks.size()), "network"),
                  count_text(static_cast<long long>(devices.size()), "device"));
  if (all.runs == 0)
    text += "No run ended well.";
  else
    text += fmt::format("Half of them are off by less than {}, 95 % by less than {}.",
                        percent_text(all.median), percent_text(all.p95));
  if (has_intervals(view) && all.runs > 0)
    text += fmt::format(" Of the intervals that promise 90 %, {} hold what was measured.",
                        percent_text(all.coverage));
  text += memory_words(all);
  return view.method.empty() ? text : text + " " + view.method;
}

std::string eval_header(const EvalView& view, double made_seconds) {
  const predict::Score all = predict::score(view.judged);
  const auto share = [&](double value) { return all.runs == 0 ? std::string("-") : percent_text(value); };
  Headline headline{"Trainyard prediction",
                    view.title,
                    fmt::format("report made {} UTC", time_text(made_seconds)),
                    eval_in_words(view, all),
                    {{share(all.mape), "mean error (MAPE)"},
                     {share(all.median), "median error"},
                     {share(all.p95), "95 % of runs stay below"}}};
  if (has_intervals(view)) headline.tiles.push_back({share(all.coverage), "within 90 % intervals"});
  if (all.memory_runs > 0)
    headline.tiles.push_back({percent_text(all.memory_mape), "mean error of peak memory"});
  if (all.oom > 0)
    headline.tiles.push_back({fmt::format("{} / {}", all.oom - all.oom_missed, all.oom),
                              "out of memory, foreseen", all.oom_missed > 0});
  return header_html(headline);
}

}  // namespace

std::string make_eval_page(const EvalView& view, const std::vector<Chart>& charts,
                           const std::vector<Library>& libraries, double made_seconds) {
  return frame_page(view.title, eval_header(view, made_seconds),
                    charts_section(charts) + scores_section(view) + memory_section(view) +
                        largest_errors_section(view) + kMethod,
                    libraries);
}

namespace {

using predict::Judged;

// Runs that need the same memory, and ended alike.
struct MemoryCase {
  std::size_t runs = 0;
  double least = 1, most = 0;  // probability of running out of memory
};
// The key holds device, network, batch, optimizer, whether the run ended out of memory, and whether that was
// foreseen.
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

namespace {

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
