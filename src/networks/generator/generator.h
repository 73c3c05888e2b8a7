#pragma once

#include <array>
#include <vector>

#include "networks/builder.h"
#include "networks/generator/counts.h"
#include "networks/generator/parameter.h"
#include "ops/recurrent.h"
#include "tensor/tensor.h"

namespace trainyard::networks::generator {

// What a network on sequences reads: as many tokens, each a number below the vocabulary.
struct SequenceSizes {
  std::int64_t length, vocabulary;
};

// A family of networks: what may be chosen, and what becomes of the choice.
struct Generator {
  std::vector<Parameter> parameters;
  // Refuses what no single range can say; null: nothing. Error (usage).
  void (*check)(const Parameters& parameters) = nullptr;
  // The input of one sample: (channel, row, column), or one dimension.
  Shape (*input)(const Parameters& parameters);
  // images (N, input) -> logits (N, classes); or ids (i32 length, N) -> logits (length * N, vocabulary),
  // where classes is the vocabulary
  graph::ValueId (*build)(Builder& builder, graph::ValueId input, int classes, const Parameters& parameters);
  // What a step of it costs, by formulas; the graph is not built. Null: no formulas, sizes cannot run away.
  Counts (*count)(const Parameters& parameters, int classes, const CountOptions& options);
  // Of a family that says the next token at each step; null: its input is images.
  SequenceSizes (*sequence)(const Parameters& parameters) = nullptr;
};

// ParaDnn's fully connected network: `layers` dense layers of `width` with ReLU, then one to the classes.
struct FcSizes {
  std::int64_t layers, width, inputs, classes;
};

FcSizes fc_sizes(const Parameters& parameters, int classes);

// ParaDnn's family of CNNs: a ResNet "v1.5" body whose every group starts with a projection. The original
// ends with a 7x7 pool without padding, which wants images of at least 193 pixels; the adaptive one averages
// all.
struct CnnSizes {
  bool bottleneck;
  std::array<std::int64_t, 4> blocks;
  std::int64_t filters, image, classes;
  bool adaptive;
};

inline constexpr std::int64_t kCnnPool = 7;               // the side of the original pool
inline constexpr std::int64_t kSmallestForThePool = 193;  // a 32nd of it, rounded up, is a 7

CnnSizes cnn_sizes(const Parameters& parameters, int classes);

// ParaDnn's recurrent language model: an embedding, `layers` cells of its width, and at each step a dense
// layer to the vocabulary.
struct RnnSizes {
  ops::Cell cell;
  std::int64_t layers, hidden, length, vocabulary;
};

RnnSizes rnn_sizes(const Parameters& parameters);

}  // namespace trainyard::networks::generator
