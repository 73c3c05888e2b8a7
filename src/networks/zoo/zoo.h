#pragma once

#include "graph/graph.h"
#include "networks/generator/network_info.h"
#include "ops/update.h"

namespace trainyard::networks {

const std::vector<NetworkInfo>& all_networks();

// The name of a file is that of the network in it (network_files.h). Throws an Error of kind usage that
// suggests the nearest name.
const NetworkInfo& find_network(std::string_view name);

// Returns whether some generated network has a parameter of this name.
bool is_parameter(std::string_view name);

// Returns all parameters of a network, given or its own. Error (usage) when one is not allowed.
generator::Parameters parameters_of(const NetworkInfo& info, const generator::Given& given);

// Returns the network with the input that these parameters give it.
NetworkInfo find_network(std::string_view name, const generator::Given& given);

// StartWeights are what a network starts from, where that is not what its own initializers say.
struct StartWeights {
  std::string from;                                   // the file, as the user named it
  std::map<std::string, graph::Initializer> content;  // of parameters and statistics, by their names
};

struct ModelOptions {
  std::string network;  // of the zoo, or a name for what `imported` builds
  std::int64_t batch = 1;
  int classes = 0;                // 0: the network's own
  Shape input{};                  // (channel, row, column); no dimension: the network's own
  generator::Given parameters{};  // of a generated network; what is not given is its own
  bool training = true;
  // false: the logits alone, without the loss and its labels, as who asks the network wants them. REQUIRES:
  // no training.
  bool loss = true;
  double label_smoothing = 0;
  double weight_decay = 0;  // L2 penalty on all weights of rank 2 and more
  DType dtype = DType::f32;
  std::shared_ptr<const StartWeights> start = nullptr;
  // Patterns of the parameters that are not trained (fine_tuning.h); in inference they change nothing.
  std::vector<std::string> freeze = {};
  // Builds a network that the zoo has not, for a batch size, in training or inference: a graph of one input
  // "images" and one output, the logits (N, classes), or of the input "tokens" (i32 length + 1, N) and the
  // logits (length * N, vocabulary). Null: the zoo or a file has it.
  std::function<graph::Graph(std::int64_t batch, bool training)> imported = nullptr;
};

struct Model {
  graph::Graph graph;
  bool training = true;
  // A network on images has the inputs "images" (N, ...) and "labels" (i32 N). A network on sequences has the
  // inputs "tokens" (i32 length + 1, N) and "lengths" (i32 N) from 1 to length. Its labels are the tokens but
  // the first (length, N): the network predicts the next token at each step. Where it is asked for masked
  // tokens, "tokens" is (2 length, N): what it reads, then its labels, ops::kNoLabel where nothing is asked.
  // Without the loss there are neither labels nor lengths, and nothing reads the tokens behind `length`.
  graph::ValueId images = graph::kNone, labels = graph::kNone;
  // A network that finds objects has the inputs "images" and "labels" (i32 N, kMostBoxes, ops::kBoxNumbers),
  // and anchor_labels (i32 N * anchors): what its boxes ask of each anchor.
  graph::ValueId tokens = graph::kNone, lengths = graph::kNone, anchor_labels = graph::kNone;
  // (N, classes), (length * N, vocabulary) or (N * anchors, classes): an output, but for the training of
  // networks on sequences and of those that find objects
  graph::ValueId logits = graph::kNone;
  graph::ValueId loss = graph::kNone;  // output, scalar; kNone without the loss
  std::vector<graph::ValueId> frozen;  // parameters that are not trained
  // Set by add_training_step, one for each parameter that is trained, in the graph's order.
  std::vector<graph::ValueId> gradients, shadow_weights;
};

// Builds the network, with its loss unless nobody wants it: mean softmax cross-entropy, of sequences over the
// steps within their lengths; of boxes the focal loss of classes and Huber's of offsets, over the anchors
// that find one; and, in training, the penalties on weights and on the use of experts. In inference there is
// no dropout and batch norm uses the running statistics; names and shapes of parameters and statistics are
// those of training.
Model build_model(const ModelOptions& options);

// A network that makes text token by token, for some new steps of each sequence behind those of its caches.
struct Decoder {
  graph::Graph graph;
  generator::NewSteps input;             // "ids", "places" (i32 steps, N) and "first" (i32 1)
  graph::ValueId logits = graph::kNone;  // output (N, vocabulary): of the token behind the last step
};

struct DecoderOptions {
  std::string network;
  generator::Given parameters{};
  std::int64_t batch = 1, steps = 1;
};

// Error (usage) for a network that does not make text. Parameters have the names of those that are trained.
Decoder build_decoder(const DecoderOptions& options);

// Appends the backward pass and the update of all parameters that are trained; with several micro-batches the
// update uses the mean of so many gradients. REQUIRES: a model built for training.
void add_training_step(Model& model, const ops::UpdateAttrs& update, int micro_batches = 1);

}  // namespace trainyard::networks
