#include "report/placement/placement_page.h"

#include "base/text.h"
#include "report/page.h"
#include "report/sections.h"
#include "report/text.h"

namespace trainyard::report {

namespace {

constexpr const char* kPlacementMethod = R"(<section id="method">
<h2>How the numbers are made</h2>
<ul>
<li>A policy sees <b>predicted</b> seconds; jobs then <b>run</b> as long as was measured, where that is known, or else as
predicted. A device runs one job at a time; a policy that decides at events may stop one, which goes on later.</li>
<li><b>JCT</b> is the time from a job's arrival to its end, <b>makespan</b> the time until the last job ends, and
<b>utilisation</b> the share of all devices' time until then in which they ran a job.</li>
<li>The <b>bounds</b> are of jobs as they run: the mean JCT of the best plan where all jobs are there from the start, else of
devices that could share every job; the makespan by the linear programme of unrelated machines.</li>
<li><b>Slow-down</b> is JCT over the time on the fastest device, which counts 10 s at least. <b>Against an equal share</b>: a
user's mean JCT over that alone on devices slower by the number of users; above 1 an equal share would have been better.
<b>Fairness</b> is Jain's index of it.</li>
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
    text += fmt::format(" No schedule has a mean JCT below {} or ends before {}.",
                        format_seconds(view.bounds.mean_completion_seconds),
                        format_seconds(view.bounds.makespan_seconds));
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
    if (shown->fairness > 0) add(number_text(shown->fairness), "fairness (1: equal shares)");
    if (shown->stops > 0) add(number_text(shown->stops), "stops of jobs");
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
                    charts_section(charts) + policies_section(view) + users_section(view) +
                        devices_section(view) + placed_jobs_section(view) + kPlacementMethod,
                    libraries);
}

namespace {

std::string time_cell(const char* figure, double seconds) {
  return number_cell(figure, seconds, seconds == 0 ? "0" : format_seconds(seconds));
}

std::string family_cell(const PlacementView& view, std::size_t job) {
  return text_cell(view.family(job) == "other" ? "-" : view.family(job));
}

std::string placed_row(const PlacementView& view, const place::Placement& decision) {
  const place::Job& job = view.job(decision);
  const place::Option& option = job.options[view.slot(decision).kind];
  return fmt::format("<tr{}><th scope=\"row\">{}</th>", decision.out_of_memory ? " class=\"differs\"" : "",
                     html_text(job.name)) +
         family_cell(view, decision.job) + text_cell(view.slot(decision).name) +
         time_cell("arrival", job.arrival_seconds) +
         time_cell("waited", decision.end_seconds - job.arrival_seconds - decision.ran_seconds()) +
         time_cell("predicted", option.seconds) + time_cell("ran", decision.ran_seconds()) +
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
  return html + fmt::format("<td class=\"reason\">{}</td></tr>\n",
                            html_text(place::why_nowhere(view.problem.jobs[job])));
}

}  // namespace

std::string placed_jobs_section(const PlacementView& view) {
  if (!view.outcome) return "";
  std::string html =
      "<section id=\"jobs\">\n<h2>Jobs</h2>\n<div class=\"scroll\">\n<table class=\"sortable\">\n<thead><tr>"
      "<th>job</th><th>family</th><th>device</th><th class=\"num\">arrived<br><small>after</small></th>"
      "<th class=\"num\">waited</th><th class=\"num\">predicted</th><th class=\"num\">ran</th>"
      "<th class=\"num\">ended<br><small>after</small></th><th>why there</th></tr></thead>\n<tbody>\n";
  for (const place::Placement& decision : view.outcome->decisions) html += placed_row(view, decision);
  for (const std::size_t job : view.outcome->unplaced) html += unplaced_row(view, job);
  return html + "</tbody>\n</table>\n</div>\n</section>\n";
}

namespace {

std::string seconds_cell(const char* figure, double seconds) {
  return number_cell(figure, seconds, seconds == 0 ? "0" : format_seconds(seconds));
}

}  // namespace

std::string policies_section(const PlacementView& view) {
  std::string html =
      "<section id=\"policies\">\n<h2>Policies</h2>\n<div class=\"scroll\">\n<table class=\"sortable\">\n"
      "<thead><tr><th>policy</th><th>what it does</th><th class=\"num\">mean JCT</th>"
      "<th class=\"num\">JCT, p95</th><th class=\"num\">slow-down</th><th class=\"num\">makespan</th>"
      "<th class=\"num\">utilisation</th><th class=\"num\">out of "
      "memory<br><small>jobs</small></th></tr></thead>\n"
      "<tbody>\n";
  for (const PolicyFigures& one : view.policies) {
    html += fmt::format("<tr><th scope=\"row\">{}</th>", html_text(one.name));
    if (!one.left_out.empty()) {
      html += fmt::format("<td class=\"reason\">left out: {}</td>", html_text(one.left_out));
      for (const char* figure : {"jct", "p95", "slowdown", "makespan", "utilisation", "oom"})
        html += empty_cell(figure);
    } else {
      html += text_cell(one.description) + seconds_cell("jct", one.mean_completion_seconds) +
              seconds_cell("p95", one.p95_completion_seconds) +
              number_cell("slowdown", one.mean_slowdown, number_text(one.mean_slowdown)) +
              seconds_cell("makespan", one.makespan_seconds) +
              number_cell("utilisation", one.utilisation, percent_text(one.utilisation)) +
              number_cell("oom", one.out_of_memory, number_text(one.out_of_memory));
    }
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</div>\n</section>\n";
}

std::string users_section(const PlacementView& view) {
  if (!view.outcome || view.outcome->users.empty()) return "";
  std::string html =
      "<section id=\"users\">\n<h2>Users</h2>\n<div class=\"scroll\">\n<table class=\"sortable\">\n"
      "<thead><tr><th>user</th><th class=\"num\">jobs</th><th class=\"num\">mean JCT</th>"
      "<th class=\"num\">slow-down</th><th class=\"num\">device time</th>"
      "<th class=\"num\">against an equal share</th></tr></thead>\n<tbody>\n";
  for (const place::UserFigures& user : view.outcome->users)
    html += fmt::format("<tr><th scope=\"row\">{}</th>", html_text(user.user.empty() ? "-" : user.user)) +
            number_cell("jobs", static_cast<double>(user.jobs), fmt::format("{}", user.jobs)) +
            seconds_cell("jct", user.mean_completion_seconds) +
            number_cell("slowdown", user.mean_slowdown, number_text(user.mean_slowdown)) +
            seconds_cell("device_time", user.device_seconds) +
            number_cell("share", user.finish_time_fairness, number_text(user.finish_time_fairness)) +
            "</tr>\n";
  return html + "</tbody>\n</table>\n</div>\n</section>\n";
}

std::string devices_section(const PlacementView& view) {
  if (!view.outcome) return "";
  const std::size_t count = view.problem.slots.size();
  std::vector<double> busy(count, 0.0);
  std::vector<std::size_t> jobs(count, 0);
  for (const place::Placement& decision : view.outcome->decisions)
    for (const place::Stretch& stretch : decision.stretches)
      for (const std::size_t slot : stretch.slots) {
        busy[slot] += stretch.end_seconds - stretch.start_seconds;
        ++jobs[slot];
      }
  std::string html =
      "<section id=\"devices\">\n<h2>Devices</h2>\n<div class=\"scroll\">\n<table "
      "class=\"sortable\">\n<thead><tr><th>device</th><th>kind</th>"
      "<th class=\"num\">jobs</th><th class=\"num\">busy</th><th class=\"num\">of the makespan</th>"
      "<th class=\"num\">energy, kWh</th><th class=\"num\">price</th></tr></thead>\n<tbody>\n";
  for (std::size_t s = 0; s < count; ++s) {
    const place::Slot& slot = view.problem.slots[s];
    const predict::DeviceSheet& device = view.problem.kinds[slot.kind];
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
