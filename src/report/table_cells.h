#pragma once

#include <string>
#include <vector>

#include "report/study_view.h"

// Cells of tables on a page.
namespace trainyard::report {

// What people read, and the number itself for sorting and for whoever reads the page by program.
std::string number_cell(const char* figure, double exact, const std::string& text);
// Of a figure that is not known.
std::string empty_cell(const char* figure);
// Links to what these runs left, or their ids where nothing lies beside the page; of many the first few.
std::string run_links(const std::vector<const record::RunRecord*>& runs, const FileLinks& links);
// Text that is escaped.
std::string text_cell(const std::string& text);

}  // namespace trainyard::report
