#pragma once

#include "networks/generator/parameter.h"
#include "networks/layers/expression.h"
#include "networks/layers/layer.h"
#include "tensor/tensor.h"
#include "yaml/yaml_reader.h"

namespace trainyard::networks::layers {

// What the samples of a network are: the keys of `input` in its file.
struct InputRow {
  const char* name;
  const char* about;
  double least, most;
};
enum class InputKind : std::uint8_t { image, features, sequence };
const std::vector<InputRow>& input_rows(InputKind kind);

inline constexpr std::int64_t kMostClasses = std::int64_t{1} << 24;

// A Description is a file of layers: the network for any choice of its parameters.
struct Description {
  std::string name, about, preprocess;
  InputKind kind = InputKind::image;
  bool masked = false;
  std::map<std::string, Text> input;  // by the names of the rows; of images and features, expressions
  int classes = 0;                    // of sequences: their vocabulary where no other is given
  std::vector<generator::Parameter> parameters;
  std::vector<Layer> layers;

  // What $names stand for where the parameters have these values.
  static Variables variables(const generator::Parameters& parameters);
  Shape input_shape(const Variables& variables) const;  // of sequences: their length
};

// Throws Error (config) with file, line and column.
Description read_description(const yaml::YamlReader& file);

// Reads a list of layers. Throws Error (config) that begins with the place: a layer or an option that is
// unknown, missing or of another form. Numbers and words are looked at when the layers are built.
std::vector<Layer> read_layers(const yaml::YamlReader& list);

}  // namespace trainyard::networks::layers
