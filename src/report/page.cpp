#include "report/page.h"

#include <fmt/core.h>

#include "report/escape.h"
#include "report/page_parts.h"
#include "report/sections.h"

namespace trainyard::report {
namespace {

// Vega compiles its expressions, hence unsafe-eval; nothing may be loaded from anywhere.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: "
    "blob:";

std::string head(const StudyView& view) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{} - Trainyard</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{}</style>\n</head>\n",
      html_text(kPolicy), html_text(view.name.empty() ? "study" : view.name), kPageStyle);
}

std::string library_script(const Library& library) {
  return fmt::format("<script>\n/*!\n{} {}\n{}*/\n{}\n</script>\n", library.name, library.version,
                     library.licence, program_in_script(library.script));
}

}  // namespace

std::string make_page(const StudyView& view, const std::vector<Chart>& charts,
                      const std::vector<Library>& libraries, double made_seconds) {
  std::string html = head(view);
  html += "<body>\n<main>\n";
  html += header_section(view, made_seconds);
  html += "<noscript><p class=\"problem\">The charts need JavaScript; the tables do not.</p></noscript>\n";
  html += "<p class=\"problem\" id=\"problem\" hidden></p>\n";
  html += completeness_section(view);
  html += results_section(view);
  html += charts_section(charts);
  html += provenance_section(view);
  html += warnings_section(view);
  html += method_section();
  html += "</main>\n";
  for (const Library& library : libraries) html += library_script(library);
  html += fmt::format("<script>\n{}{}</script>\n</body>\n</html>\n", kFitScript, kPageScript);
  return html;
}

}  // namespace trainyard::report
