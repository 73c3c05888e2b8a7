#include "report/prediction/eval_page.h"

#include <set>

#include <fmt/core.h>

#include "report/number_text.h"
#include "report/page_frame.h"
#include "report/prediction/eval_sections.h"
#include "report/sections.h"

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

}  // namespace trainyard::report
