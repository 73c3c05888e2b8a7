#pragma once

#include "base/standard.h"

namespace trainyard::networks::generator {

// A Parameter is one dimension of a family: an option `--name` of the commands and a setting `name` of
// studies.
struct Parameter {
  std::string name;
  std::string about;
  std::string fallback;                    // the value when none is given
  std::int64_t smallest = 1, largest = 1;  // of each number
  int numbers = 1;                         // more: so many, as in 3,4,6,3, or one that stands for all
  std::vector<std::string> choices = {};   // a word, one of these; none: numbers
  bool is_of_data = false;                 // a network that is trained takes it from its data
  bool is_fraction = false;                // one number that need not be whole

  bool is_word() const { return !choices.empty(); }
  // "residual or bottleneck", "a whole number from 1 to 4096".
  std::string allowed() const;
};

// Holds the given values as text, by the parameter's name.
using Given = std::map<std::string, std::string>;

// One value for each parameter of a table, all of them allowed.
class Parameters {
 public:
  Parameters() = default;

  // Error (usage) that names the option, what was given and what is allowed; `network` is whose table it is.
  Parameters(std::string_view network, const std::vector<Parameter>& table, const Given& given);

  // REQUIRES: the table has a parameter of this name and kind.
  std::int64_t number(std::string_view name) const;
  std::vector<std::int64_t> numbers(std::string_view name) const;  // as many as the table says
  double fraction(std::string_view name) const;
  const std::string& word(std::string_view name) const;

  // Returns all of them as text, in the table's order.
  const std::vector<std::pair<std::string, std::string>>& all() const& { return values_; }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> numbers_;
  std::map<std::string, double, std::less<>> fractions_;
};

}  // namespace trainyard::networks::generator
