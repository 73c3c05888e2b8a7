#pragma once

#include <string>

#include "data/augment.h"
#include "data/dataset.h"
#include "networks/zoo.h"

namespace trainyard::train {

// How images of a data set get into a network.
struct MatchedInput {
  Shape network;  // for ModelOptions::input
  data::Preprocess preprocess;
};

// Error (usage) for a network that reads no images, but sequences.
void want_images(const networks::NetworkInfo& network);

// The network's own rows and columns with the data set's channels; a network on flat input takes the whole
// image as it comes. `preprocess` empty: the network's own. Error (config) when the preprocessing cannot
// make that size.
MatchedInput match_input(const networks::NetworkInfo& network, const data::Dataset& dataset,
                         const std::string& preprocess);

// A synthetic set for a network: images of its input, as many as fit into a modest memory.
data::SyntheticOptions synthetic_for(const networks::NetworkInfo& network, int classes, std::uint64_t seed);

}  // namespace trainyard::train
