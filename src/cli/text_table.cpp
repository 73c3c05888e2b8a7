#include "cli/text_table.h"

namespace trainyard::cli {
namespace {

// Code points, as far as a terminal shows one column each.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xc0) != 0x80; }));
}

bool is_numeric(const std::string& text) {
  return !text.empty() &&
         (std::isdigit(static_cast<unsigned char>(text[0])) != 0 || text[0] == '-' || text[0] == '.');
}

}  // namespace

std::string TextTable::text() const {
  if (size() == 0) return "";
  std::string text;
  const std::size_t columns = rows_.front().size();
  std::vector<std::size_t> widths(columns, 0);
  std::vector<bool> numeric(columns, true);
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < columns; ++c) {
      widths[c] = std::max(widths[c], width_of(row[c]));
      if (&row != &rows_.front() && !row[c].empty()) numeric[c] = numeric[c] && is_numeric(row[c]);
    }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::string gap(widths[c] - width_of(row[c]), ' ');
      line += (c == 0 ? "" : "  ") + (numeric[c] ? gap + row[c] : row[c] + gap);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string four_digits(double value) {
  return value >= 1000 && value < 1e7 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

}  // namespace trainyard::cli
