#pragma once

#include "networks/builder.h"
#include "networks/generator/counts.h"
#include "networks/generator/parameter.h"
#include "ops/sequence/recurrent.h"
#include "tensor/tensor.h"

namespace trainyard::networks::generator {

// The input of a network on sequences has this many tokens, each a number below the vocabulary.
struct SequenceSizes {
  std::int64_t length, vocabulary;
  // It is asked for tokens that are masked, by the last one of the vocabulary; not for the next at each step.
  bool masked = false;

  // Rows of a batch: what is read, and the labels; next tokens are tokens that are read, but the last.
  std::int64_t rows() const { return masked ? 2 * length : length + 1; }
};

// NewSteps are the inputs of a network that makes text token by token: ids (i32 S, N) of the new steps, their
// places (i32 S, N), and the place of the first (i32 1).
struct NewSteps {
  graph::ValueId ids, places, first;
};

// A Generator is a family of networks: its parameters, and the functions that turn a choice of them into a
// network.
struct Generator {
  std::vector<Parameter> parameters;
  // Refuses combinations that no single range can express; null when there are none. Throws Error (usage).
  std::function<void(const Parameters& parameters)> check = nullptr;
  // Returns the shape of one sample's input: (channel, row, column), or one dimension.
  std::function<Shape(const Parameters& parameters)> input;
  // images (N, input) -> logits (N, classes); or ids (i32 length, N) -> logits (length * N, vocabulary),
  // where classes is the vocabulary
  std::function<graph::ValueId(Builder& builder, graph::ValueId input, int classes,
                               const Parameters& parameters)>
      build;
  // Returns the cost of a step, by formulas; the graph is not built. Null when there are no formulas, because
  // sizes are bounded.
  std::function<Counts(const Parameters& parameters, int classes, const CountOptions& options)> count =
      nullptr;
  // Set for a family that predicts tokens; null when its input is images.
  std::function<SequenceSizes(const Parameters& parameters)> sequence = nullptr;
  // Returns the logits (N, vocabulary) behind the last of some new steps. Keys and values of the steps before
  // lie in caches, statistics with room for `length` steps. Null when the family does not make text.
  std::function<graph::ValueId(Builder& builder, const NewSteps& input, const Parameters& parameters)>
      decode = nullptr;
};

// ParaDnn's fully connected network has `layers` dense layers of `width` with ReLU, then one to the classes.
struct FcSizes {
  std::int64_t layers, width, inputs, classes;
};

FcSizes fc_sizes(const Parameters& parameters, int classes);

// Counts a fully connected network as ParaDnn's authors do, so that published columns can be reproduced:
// P = (L - 1) N^2 + N (I + O). Biases do not count, and the first layer is charged an input gradient that no
// step computes. The PyTorch re-make prints this, too, although its networks have one hidden layer more.
struct PublishedCounts {
  std::int64_t parameters = 0;
  double flops = 0;  // of a step: 6 B P in training, 2 B P in inference
};
PublishedCounts published_fc(const FcSizes& sizes, std::int64_t batch, bool training);

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
  ops::RecurrentCell cell;
  std::int64_t layers, hidden, length, vocabulary;
};

RnnSizes rnn_sizes(const Parameters& parameters);

// A transformer of one stack: norms before each part of a layer and behind the last, as GPT-2 and LLaMA have
// them; or, as BERT has them, behind the sum of each part with what it reads, and behind the embeddings. The
// head may be BERT's: a dense layer, GELU and a norm, and logits with a bias.
struct TransformerSizes {
  enum class Unit : std::uint8_t { relu, gelu, gelu_tanh, silu, swiglu };
  enum class Positions : std::uint8_t { learned, sinusoidal, rotary, none };
  std::int64_t layers, width, heads, kv_heads, hidden, length, vocabulary;
  bool causal, rms_norm, bias, tied, post_norm, transforms;
  Unit unit;
  Positions positions;
  std::int64_t experts, choices;  // of the feed-forward part; choices: experts that each token takes
  double balance;

  bool routes() const { return experts > 1; }  // else the feed-forward part is dense
  std::int64_t head_size() const { return width / heads; }
  std::int64_t qkv_width() const { return (heads + 2 * kv_heads) * head_size(); }
  bool gated() const { return unit == Unit::swiglu; }
};

TransformerSizes transformer_sizes(const Parameters& parameters);
Counts count_transformer(const Parameters& parameters, int classes, const CountOptions& options);

}  // namespace trainyard::networks::generator
