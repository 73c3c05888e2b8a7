#include "report/placement/placement_page.h"

#include <fmt/core.h>

#include "base/units.h"
#include "report/number_text.h"
#include "report/page_frame.h"
#include "report/placement/placement_sections.h"
#include "report/sections.h"

namespace trainyard::report {
namespace {

constexpr const char* kPlacementMethod = R"(<section id="method">
<h2>How the numbers are made</h2>
<ul>
<li>A policy sees <b>predicted</b> seconds; jobs then <b>run</b> as long as was measured, where that is known, or else as
predicted. A device runs one job at a time, in the order in which they were placed there.</li>
<li><b>JCT</b> is the time from a job's arrival to its end, <b>makespan</b> the time until the last job ends, and
<b>utilisation</b> the share of all devices' time until then in which they ran a job.</li>
<li>A job that is predicted not to fit into a device's memory is never placed there; the scores of GPUAlloc, which are kept
for comparison, do not ask.</li>
<li>Energy and price are a device's rates times the seconds that it ran jobs, where it says them.</li>
</ul>
</section>
)";

std::string count_of(std::size_t count, const char* noun) {
  return count_text(static_cast<long long>(count), noun);
}

std::string placement_in_words(const PlacementView& view) {
  const place::Problem& problem = view.problem;
  std::string text = fmt::format("{} on {}.", count_of(problem.jobs.size(), "job"),
                                 count_of(problem.slots.size(), "device"));
  if (const PolicyFigures* shown = view.shown_policy()) {
    text += fmt::format(" By {} ({}) a job is done {} after its arrival on average, and all are after {}.",
                        shown->name, shown->description, format_seconds(shown->mean_completion_seconds),
                        format_seconds(shown->makespan_seconds));
    text +=
        fmt::format(" No schedule ends before {}.", format_seconds(place::makespan_bound_seconds(problem)));
  }
  if (view.policies.size() > 1)
    text += fmt::format(
        " Of {} policies this one has the least mean JCT among those that lose the fewest jobs to memory.",
        view.policies.size());
  if (view.outcome && !view.outcome->unplaced.empty())
    text += fmt::format(" {} {} nowhere.", count_of(view.outcome->unplaced.size(), "job"),
                        view.outcome->unplaced.size() == 1 ? "fits" : "fit");
  if (view.orders > 0) text += fmt::format(" Figures are means over {} orders of arrival.", view.orders);
  if (view.error > 0)
    text += fmt::format(" Predictions were made wrong on purpose, by a deviation of {} of their logarithm.",
                        view.error);
  return text;
}

std::string placement_header(const PlacementView& view, double made_seconds) {
  Headline headline{"Trainyard placement",
                    view.title,
                    fmt::format("report made {} UTC", time_text(made_seconds)),
                    placement_in_words(view),
                    {}};
  const auto add = [&](const std::string& value, const std::string& meaning, bool alarm = false) {
    headline.tiles.push_back({value, meaning, alarm});
  };
  if (const PolicyFigures* shown = view.shown_policy()) {
    add(format_seconds(shown->mean_completion_seconds), "mean JCT");
    add(format_seconds(shown->makespan_seconds), "makespan");
    add(percent_text(shown->utilisation), "utilisation");
    if (shown->out_of_memory > 0) add(number_text(shown->out_of_memory), "jobs out of memory", true);
  }
  if (view.outcome) {
    const place::Outcome& outcome = *view.outcome;
    add(fmt::format("{} / {}", outcome.decisions.size(), view.problem.jobs.size()), "jobs placed",
        !outcome.unplaced.empty());
    if (outcome.energy_joules > 0) add(number_text(outcome.energy_joules / 3.6e6), "kWh of energy");
    if (outcome.price > 0) add(number_text(outcome.price), "price");
  }
  return header_html(headline);
}

}  // namespace

std::string make_placement_page(const PlacementView& view, const std::vector<Chart>& charts,
                                const std::vector<Library>& libraries, double made_seconds) {
  return frame_page(view.title, placement_header(view, made_seconds),
                    charts_section(charts) + policies_section(view) + devices_section(view) +
                        placed_jobs_section(view) + kPlacementMethod,
                    libraries);
}

}  // namespace trainyard::report
