#pragma once

#include "base/standard.h"

namespace trainyard::cli {

// Rows of cells, printed with aligned columns: text to the left, numbers to the right.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> head) : rows_{std::move(head)} {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::size_t size() const { return rows_.size() - 1; }
  std::string text() const;  // one line a row, "" when there is none

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Returns a figure of whatever kind: speeds, seconds, bytes and accuracies alike.
std::string four_digits(double value);

}  // namespace trainyard::cli
