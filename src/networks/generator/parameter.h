#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "networks/generator/generator.h"

namespace trainyard::networks::generator {

// One dimension of a family: an option `--name` of the commands and a setting `name` of studies.
struct Parameter {
  std::string name;
  std::string about;
  std::string fallback;                    // the value when none is given
  std::int64_t smallest = 1, largest = 1;  // of each number
  int numbers = 1;                         // more: so many, as in 3,4,6,3, or one that stands for all
  std::vector<std::string> choices = {};   // a word, one of these; none: numbers

  bool is_word() const { return !choices.empty(); }
  // "residual or bottleneck", "a whole number from 1 to 4096".
  std::string allowed() const;
};

// What was given, as text, by the parameter's name.
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
  const std::string& word(std::string_view name) const;

  // All of them as text, in the table's order.
  const std::vector<std::pair<std::string, std::string>>& all() const& { return values_; }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> numbers_;
};

// How ParaDnn's authors count a fully connected network, so that published columns can be reproduced. Biases
// do not count, and the first layer is charged an input gradient that nobody computes.
struct PublishedCounts {
  std::int64_t parameters = 0;
  double flops = 0;  // of a step: 6 B P in training, 2 B P in inference
};

// P = (L - 1) N^2 + N (I + O). The PyTorch re-make prints this, too, although its networks have one hidden
// layer more; those of `remake_as_built` are counted as they are.
PublishedCounts published_fc(const FcSizes& sizes, std::int64_t batch, bool training);
PublishedCounts remake_as_built(const FcSizes& sizes, std::int64_t batch);

// Bytes of ParaDnn's fully connected training on each of a TPU v2's eight cores: parameters with two tensors
// of optimizer state in 32 bits, activations and their gradients in 16. What exceeds 8 GB did not run.
double tpu_v2_core_bytes(const FcSizes& sizes, std::int64_t batch);
inline constexpr double kTpuV2CoreBytes = 8e9;

}  // namespace trainyard::networks::generator
