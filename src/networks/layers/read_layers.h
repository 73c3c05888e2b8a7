#pragma once

#include "networks/layers/layer.h"
#include "yaml/yaml_reader.h"

namespace trainyard::networks::layers {

// Reads a list of layers. Throws Error (config) that begins with the place: a layer or an option that is
// unknown, missing or of another form. Numbers and words are looked at when the layers are built.
std::vector<Layer> read_layers(const yaml::YamlReader& list);

}  // namespace trainyard::networks::layers
