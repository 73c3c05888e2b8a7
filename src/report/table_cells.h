#pragma once

#include <string>

// Cells of tables on a page.
namespace trainyard::report {

// What people read, and the number itself for sorting and for whoever reads the page by program.
std::string number_cell(const char* figure, double exact, const std::string& text);
// Of a figure that is not known.
std::string empty_cell(const char* figure);
// Text that is escaped.
std::string text_cell(const std::string& text);

}  // namespace trainyard::report
