#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "predict/gnn/repeats.h"

namespace trainyard::predict {

// gcn: neighbours normalised by degree, one layer. gin: their sum, two layers.
enum class Convolution : std::uint8_t { gcn, gin };
const char* name(Convolution convolution);
Convolution parse_convolution(const std::string& word);

// Driple's network (Yang et al., SIGMETRICS 2022), whose defaults these are: a convolution of the features
// and a second one that is repeated, each followed by the same gated unit; Set2Set; three dense layers.
struct Architecture {
  std::int64_t features = 3;
  std::int64_t hidden = 64;
  std::int64_t outputs = 12;
  Convolution convolution = Convolution::gcn;
  Repeats convolutions{Repeats::Rule::nodes, 0.5};  // the first one counts
  Repeats readout_steps{Repeats::Rule::nodes, 1};
  bool leaky_output = true;  // a leaky ReLU behind the last layer: for outputs that are not negative

  friend bool operator==(const Architecture&, const Architecture&) = default;
};

// Error (config) names the field.
void check_architecture(const Architecture& architecture);

// As pairs of text for files, and back; others than these are left alone.
using Settings = std::vector<std::pair<std::string, std::string>>;
Settings to_settings(const Architecture& architecture);
Architecture parse_architecture(const Settings& settings, const std::string& who);

// The value of a setting, as text or as a whole number; Error (config) begins with who when it is not there.
const std::string& setting(const Settings& settings, const std::string& name, const std::string& who);
std::int64_t whole_setting(const Settings& settings, const std::string& name, const std::string& who);

}  // namespace trainyard::predict
