#include "predict/gnn/architecture.h"

#include <charconv>

#include "base/error.h"

namespace trainyard::predict {
namespace {

constexpr std::int64_t kMostFeatures = 4096, kMostHidden = 4096, kMostOutputs = 4096;

void check_range(const char* what, std::int64_t value, std::int64_t most) {
  if (value < 1 || value > most)
    fail(ErrorKind::config, "graph network: {} {}: wants 1 to {}", what, value, most);
}

}  // namespace

const char* name(Convolution convolution) { return convolution == Convolution::gcn ? "gcn" : "gin"; }

Convolution parse_convolution(const std::string& word) {
  for (const Convolution one : {Convolution::gcn, Convolution::gin})
    if (word == name(one)) return one;
  fail(ErrorKind::config, "convolution '{}': wants gcn or gin", word);
}

void check_architecture(const Architecture& architecture) {
  check_range("hidden", architecture.hidden, kMostHidden);
  check_range("features", architecture.features, kMostFeatures);
  check_range("outputs", architecture.outputs, kMostOutputs);
  if (architecture.features > architecture.hidden)
    fail(ErrorKind::config, "graph network: {} features: wants at most as many as hidden, {}",
         architecture.features, architecture.hidden);
}

Settings to_settings(const Architecture& architecture) {
  return {{"features", std::to_string(architecture.features)},
          {"hidden", std::to_string(architecture.hidden)},
          {"outputs", std::to_string(architecture.outputs)},
          {"convolution", name(architecture.convolution)},
          {"convolutions", architecture.convolutions.text()},
          {"readout_steps", architecture.readout_steps.text()},
          {"output_activation", architecture.leaky_output ? "leaky_relu" : "none"}};
}

Architecture parse_architecture(const Settings& settings, const std::string& who) {
  Architecture architecture;
  architecture.features = whole_setting(settings, "features", who);
  architecture.hidden = whole_setting(settings, "hidden", who);
  architecture.outputs = whole_setting(settings, "outputs", who);
  architecture.convolution = parse_convolution(setting(settings, "convolution", who));
  architecture.convolutions = parse_repeats(setting(settings, "convolutions", who));
  architecture.readout_steps = parse_repeats(setting(settings, "readout_steps", who));
  const std::string activation = setting(settings, "output_activation", who);
  if (activation != "leaky_relu" && activation != "none")
    fail(ErrorKind::config, "'{}': output_activation '{}', wants leaky_relu or none", who, activation);
  architecture.leaky_output = activation == "leaky_relu";
  check_architecture(architecture);
  return architecture;
}

const std::string& setting(const Settings& settings, const std::string& name, const std::string& who) {
  for (const auto& [key, value] : settings)
    if (key == name) return value;
  fail(ErrorKind::config, "'{}': setting '{}' is missing", who, name);
}

std::int64_t whole_setting(const Settings& settings, const std::string& name, const std::string& who) {
  const std::string text = setting(settings, name, who);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    fail(ErrorKind::config, "'{}': setting '{}' is '{}', wants a whole number", who, name, text);
  return value;
}

}  // namespace trainyard::predict
