#pragma once

#include "networks/generator/parameter.h"
#include "ops/recurrent.h"

namespace trainyard::networks::generator {

// ParaDnn's recurrent language model: an embedding, `layers` cells of its width, and at each step a dense
// layer to the vocabulary.
struct RnnSizes {
  ops::Cell cell;
  std::int64_t layers, hidden, length, vocabulary;
};

RnnSizes rnn_sizes(const Parameters& parameters);

}  // namespace trainyard::networks::generator
