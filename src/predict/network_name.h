#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensor/shape.h"

namespace trainyard::predict {

// A network of the zoo, with the input that a run of that name had.
struct NamedNetwork {
  std::string network;
  Shape input{};  // no dimension: the network's own
};

// The network that tables of tf_cnn_benchmarks call so, in any of the usual spellings: densenet40-k12,
// DenseNet40_k12, inception_v3, resnet110_cifar10, alexnet. Nothing when the zoo has none.
std::optional<NamedNetwork> find_named_network(std::string_view name);

// The same; Error (config) with the nearest names.
NamedNetwork named_network(std::string_view name);

}  // namespace trainyard::predict
