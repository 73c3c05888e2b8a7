#include "base/json.h"
#include "base/text.h"
#include "report/page.h"
#include "report/sections.h"
#include "report/text.h"

namespace trainyard::report {

namespace {

constexpr const char* kProfileMethod = R"(<section id="method">
<h2>How the numbers are made</h2>
<ul>
<li>All processes of the command count, network and GPUs as a whole machine, whoever uses them.</li>
<li>A signal is in a <b>burst</b> while it is on the higher of its two levels, which explain as much of its spread as two levels
can. A signal without two levels has no bursts.</li>
<li>The <b>period</b> is the time after which the signal is most like itself.</li>
</ul>
</section>
)";

std::string figure_cell(const char* figure, const Json& number) {
  return number.is_number() ? number_cell(figure, number.get<double>(), number_text(number.get<double>()))
                            : empty_cell(figure);
}

std::string share_cell(const char* figure, const Json& share) {
  return share.is_number() ? number_cell(figure, share.get<double>(), percent_text(share.get<double>()))
                           : empty_cell(figure);
}

std::string seconds_cell(const char* figure, const Json& seconds) {
  return seconds.is_number()
             ? number_cell(figure, seconds.get<double>(), format_seconds(seconds.get<double>()))
             : empty_cell(figure);
}

std::string signal_row(const Json& signal) {
  return fmt::format("<tr><th scope=\"row\">{}</th>",
                     html_text(spaced(signal.at("signal").get<std::string>()))) +
         figure_cell("mean", signal["mean"]) + figure_cell("p95", signal["p95"]) +
         figure_cell("max", signal["max"]) + share_cell("burst_share", signal["burst_share"]) +
         figure_cell("bursts", signal["burst"]["count"]) +
         seconds_cell("burst_seconds", signal["burst"]["mean_seconds"]) +
         seconds_cell("period", signal["period_seconds"]) + "</tr>\n";
}

std::string signals_section(const Json& profile) {
  std::string html =
      "<section id=\"signals\">\n<h2>Signals</h2>\n<div class=\"scroll\">\n<table class=\"sortable\">\n"
      "<thead><tr><th>signal</th><th class=\"num\">mean</th><th class=\"num\">p95</th>"
      "<th class=\"num\">max</th><th class=\"num\">in bursts</th><th class=\"num\">bursts</th>"
      "<th class=\"num\">mean burst</th><th class=\"num\">period</th></tr></thead>\n<tbody>\n";
  for (const Json& signal : profile["signals"]) html += signal_row(signal);
  return html + "</tbody>\n</table>\n</div>\n</section>\n";
}

}  // namespace

std::string make_profile_page(const ProfileView& view, const std::vector<Chart>& charts,
                              const std::vector<Library>& libraries, double made_seconds) {
  const Json profile = parse_json_or_discard(view.profile);
  const Headline headline{
      "Trainyard profile",
      view.title,
      fmt::format("report made {} UTC", time_text(made_seconds)),
      fmt::format("{} in {}.", count_text(static_cast<long long>(view.samples), "sample"),
                  format_seconds(view.seconds)),
      {{format_seconds(view.seconds), "time"}, {fmt::format("{}", profile["signals"].size()), "signals"}}};
  return frame_page(view.title, header_html(headline),
                    charts_section(charts) + signals_section(profile) + kProfileMethod, libraries);
}

}  // namespace trainyard::report
