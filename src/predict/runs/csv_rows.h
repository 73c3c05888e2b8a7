#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainyard::predict {

struct CsvRow {
  int line = 0;  // where it begins, counted from 1
  std::vector<std::string> cells;
};

// Parses comma-separated values (RFC 4180). A cell in quotes may hold commas, line breaks and doubled quotes;
// a byte order mark and blank lines are left out. Throws Error (config) naming `file` and the line of a quote
// that is not closed.
std::vector<CsvRow> parse_csv(std::string_view text, const std::string& file);

// Returns the cell as a file has to hold it: in quotes where it needs them.
std::string csv_cell(const std::string& text);

}  // namespace trainyard::predict
