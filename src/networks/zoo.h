#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "networks/builder.h"
#include "tensor/shape.h"

namespace trainyard::networks {

// Of a network that is a stack of equal layers. 0: its own.
struct StackSizes {
  int layers = 0;  // with the last, whose outputs are the classes
  std::int64_t width = 0;
  bool given() const { return layers != 0 || width != 0; }
};

struct NetworkInfo {
  std::string name;
  std::string family;
  std::string description;
  Shape input;  // (channel, row, column), or one dimension
  int classes;
  std::string preprocess;  // what turns an image of the data set into the input
  // images (N, input) -> logits (N, classes)
  graph::ValueId (*build)(Builder& builder, graph::ValueId images, int classes);
  // The same in other sizes; null: the network has no choice.
  graph::ValueId (*build_stack)(Builder& builder, graph::ValueId images, int classes,
                                const StackSizes& sizes) = nullptr;
};

const std::vector<NetworkInfo>& all_networks();

// Throws an Error of kind usage that suggests the nearest name.
const NetworkInfo& find_network(std::string_view name);

}  // namespace trainyard::networks
