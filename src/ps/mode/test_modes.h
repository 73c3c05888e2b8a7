#pragma once

#include <cctype>

#include "ps/mode/mode.h"

namespace trainyard::ps {

// Returns the modes of the list in which parameters are the sum of all gradients, so that tests can count
// them; one that takes a number has `number`. Racing updates may lose some of it.
inline std::vector<std::string> summing_modes(int number, bool racing) {
  std::vector<std::string> modes;
  for (const ModeRow& row : all_modes()) {
    if (row.pace == Pace::rounds && !row.sums) continue;
    if (row.sharing == Sharing::racing && !racing) continue;
    modes.push_back(ModeName{.row = &row, .number = number}.to_string());
  }
  return modes;
}

// The name of a test has letters and digits only.
inline std::string test_name(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return text;
}

}  // namespace trainyard::ps
