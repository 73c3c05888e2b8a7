#include <fmt/core.h>

#include "report/escape.h"
#include "report/sections.h"

namespace trainyard::report {

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

}  // namespace trainyard::report
