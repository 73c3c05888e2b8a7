#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "networks/builder.h"
#include "tensor/shape.h"

namespace trainyard::networks {

struct NetworkInfo {
  std::string name;
  std::string family;
  std::string description;
  Shape input;  // (channel, row, column), or one dimension
  int classes;
  std::string preprocess;  // what turns an image of the data set into the input
  // images (N, input) -> logits (N, classes)
  graph::ValueId (*build)(Builder& builder, graph::ValueId images, int classes);
};

const std::vector<NetworkInfo>& all_networks();

// Throws an Error of kind usage that suggests the nearest name.
const NetworkInfo& find_network(std::string_view name);

}  // namespace trainyard::networks
