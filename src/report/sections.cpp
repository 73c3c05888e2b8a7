#include "report/sections.h"

#include "report/text.h"

namespace trainyard::report {

std::string number_cell(const char* figure, double exact, const std::string& text) {
  return fmt::format("<td class=\"num\" data-figure=\"{}\" data-value=\"{}\">{}</td>", figure, exact,
                     html_text(text));
}

std::string empty_cell(const char* figure) {
  return fmt::format("<td class=\"num none\" data-figure=\"{}\">-</td>", figure);
}

std::string run_links(const std::vector<const record::RunRecord*>& runs, const FileLinks& links) {
  constexpr std::size_t kMostRuns = 8;
  std::string html;
  const auto link = [&](const std::map<std::string, std::string>& files, const record::RunRecord& run,
                        const char* text) {
    if (const auto found = files.find(run.id); found != files.end())
      html += fmt::format("<a href=\"{}\" title=\"{}\">{}</a>", html_text(found->second), html_text(run.id),
                          text);
  };
  for (std::size_t i = 0; i < runs.size() && i < kMostRuns; ++i) {
    link(links.logs, *runs[i], runs.size() == 1 ? "log" : fmt::format("log {}", i + 1).c_str());
    link(links.record_files, *runs[i], "record");
  }
  if (!html.empty() && runs.size() > kMostRuns)
    html += fmt::format("<small>and {} more</small>", runs.size() - kMostRuns);
  return html;
}

std::string text_cell(const std::string& text) { return "<td>" + html_text(text) + "</td>"; }

namespace {

std::string figure(const Chart& chart) {
  const std::string html = fmt::format(
      "<figure id=\"chart-{0}\" data-chart=\"{0}\">\n<figcaption><h3>{1}</h3><p>{2}</p>"
      "<span class=\"save\"><button type=\"button\" data-save=\"svg\">SVG</button>"
      "<button type=\"button\" data-save=\"png\">PNG</button></span></figcaption>\n"
      "<div class=\"plot\" role=\"img\" aria-label=\"{1}\"></div>\n"
      "<script type=\"application/json\">{3}</script>\n</figure>\n",
      html_text(chart.id), html_text(chart.title), html_text(chart.explanation), json_in_script(chart.spec));
  if (!chart.folded) return html;
  return fmt::format("<details class=\"chart\"><summary><b>{}</b></summary>\n{}</details>\n",
                     html_text(chart.title), html);
}

}  // namespace

std::string charts_section(const std::vector<Chart>& charts) {
  std::string html = "<section id=\"charts\">\n<h2>Charts</h2>\n", left_out;
  for (const Chart& chart : charts)
    if (chart.spec.empty())
      left_out += fmt::format("<li>{}: {}.</li>\n", html_text(chart.title), html_text(chart.left_out));
    else
      html += figure(chart);
  if (!left_out.empty())
    html += fmt::format(
        "<details class=\"left-out\"><summary>Charts left out, as they would say "
        "nothing</summary>\n<ul>\n{}</ul></details>\n",
        left_out);
  return html + "</section>\n";
}

std::string method_section() {
  return R"(<section id="method">
<details><summary><h2>How the numbers are made</h2></summary>
<ul>
<li>A <b>run</b> is one process. Its throughput is the images of a step, counted from the data consumed by all devices,
over the mean time of its steady steps, stalls included.</li>
<li><b>Warm-up</b> steps that the study asked for are in no statistic. Of the timed steps, the prefix before the steady
state is left out too; how many is in the table, and they are shaded in the step times.</li>
<li><b>Outliers</b> are marked, and stay in every statistic.</li>
<li>The <b>95 % interval</b> of a cell is that of the median <i>between its runs</i>: steps of one run resemble each other, so
the spread of steps says little about the next run. It rests on the order of the runs, so that a run which was held up does not move it far.
Where nodes differ by more than their runs explain, the node is the unit. A cell of one run has no interval.</li>
<li><b>Run-to-run CV</b> is the standard deviation between runs over their mean. <b>Jitter</b> is 1.4826 times the median
absolute deviation of the speeds of a run's steps, over its speed.</li>
<li>Where a replicate was tried several times, the attempt that went well counts, or else the last one.</li>
<li><b>Efficiency</b> in scaling charts is against the fewest threads or devices of the same line.</li>
</ul>
</details>
</section>
)";
}

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
  for (const CellView& cell : view.cells) labels[cell.id] = cell.label;
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
