#include "report/table_cells.h"

#include <fmt/core.h>

#include "report/escape.h"

namespace trainyard::report {

std::string number_cell(const char* figure, double exact, const std::string& text) {
  return fmt::format("<td class=\"num\" data-figure=\"{}\" data-value=\"{}\">{}</td>", figure, exact,
                     html_text(text));
}

std::string empty_cell(const char* figure) {
  return fmt::format("<td class=\"num none\" data-figure=\"{}\">-</td>", figure);
}

std::string text_cell(const std::string& text) { return "<td>" + html_text(text) + "</td>"; }

}  // namespace trainyard::report
