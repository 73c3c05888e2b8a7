#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "networks/builder.h"
#include "networks/generator/generator.h"
#include "tensor/shape.h"

namespace trainyard::networks {

struct NetworkInfo {
  std::string name;
  std::string family;
  std::string description;
  Shape input;             // (channel, row, column), or one dimension; of sequences: their length
  int classes;             // of sequences: the vocabulary
  std::string preprocess;  // what turns an image of the data set into the input; empty: it reads no images
  // images (N, input) -> logits (N, classes); null: it is generated
  graph::ValueId (*build)(Builder& builder, graph::ValueId images, int classes) = nullptr;
  const generator::Generator* generator = nullptr;  // of a network that has parameters

  bool reads_sequences() const { return generator != nullptr && generator->sequence != nullptr; }
};

const std::vector<NetworkInfo>& all_networks();

// Throws an Error of kind usage that suggests the nearest name.
const NetworkInfo& find_network(std::string_view name);

// All parameters of a network, given or its own. Error (usage) when one is not allowed.
generator::Parameters parameters_of(const NetworkInfo& info, const generator::Given& given);

// The network with the input that these parameters give it.
NetworkInfo find_network(std::string_view name, const generator::Given& given);

}  // namespace trainyard::networks
