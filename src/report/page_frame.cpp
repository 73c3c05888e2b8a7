#include "report/page_frame.h"

#include <fmt/core.h>

#include "report/escape.h"
#include "report/page_parts.h"
#include "report/theme.h"

namespace trainyard::report {
namespace {

// Vega compiles its expressions, hence unsafe-eval; nothing may be loaded from anywhere.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: "
    "blob:";

std::string head(const std::string& title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{} - Trainyard</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{}{}</style>\n"
      "<script>\n{}</script>\n</head>\n",
      html_text(kPolicy), html_text(title), palettes_css(), kPageStyle, kModeScript);
}

std::string library_script(const Library& library) {
  return fmt::format("<script>\n/*!\n{} {}\n{}*/\n{}\n</script>\n", library.name, library.version,
                     library.licence, program_in_script(library.script));
}

}  // namespace

std::string frame_page(const std::string& title, const std::string& header, const std::string& sections,
                       const std::vector<Library>& libraries) {
  std::string html = head(title);
  html += "<body>\n<main>\n";
  html += header;
  html += "<noscript><p class=\"problem\">The charts need JavaScript; the tables do not.</p></noscript>\n";
  html += "<p class=\"problem\" id=\"problem\" hidden></p>\n";
  html += sections;
  html += "</main>\n";
  for (const Library& library : libraries) html += library_script(library);
  html += fmt::format("<script>\n{}{}</script>\n</body>\n</html>\n", fit_script(), kPageScript);
  return html;
}

std::string header_html(const Headline& headline) {
  std::string html = fmt::format(
      "<header>\n<div class=\"top\"><p class=\"kicker\">{}</p>"
      "<button type=\"button\" id=\"mode\" hidden></button></div>\n"
      "<h1>{}</h1>\n<p class=\"when\">{}</p>\n<p class=\"summary\">{}</p>\n",
      html_text(headline.kicker), html_text(headline.title), html_text(headline.when),
      html_text(headline.summary));
  if (!headline.common.empty())
    html += fmt::format("<p class=\"common\">Everywhere: <b>{}</b>.</p>\n", html_text(headline.common));
  html += "<div class=\"tiles\">\n";
  for (const Tile& tile : headline.tiles)
    html += fmt::format("<div class=\"tile{}\"><b>{}</b><span>{}</span></div>\n", tile.alarm ? " alarm" : "",
                        html_text(tile.value), html_text(tile.meaning));
  html += "</div>\n";
  if (!headline.links.empty()) {
    html += "<nav aria-label=\"Parts of the page and files\">";
    for (const Link& link : headline.links)
      html += fmt::format("<a href=\"{}\">{}</a>\n", html_text(link.address), html_text(link.text));
    html += "</nav>\n";
  }
  return html + "</header>\n";
}

}  // namespace trainyard::report
