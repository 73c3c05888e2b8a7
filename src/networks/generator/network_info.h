#pragma once

#include "networks/builder.h"
#include "networks/generator/generator.h"
#include "ops/anchors.h"

namespace trainyard::networks {

// Detection holds what a network that finds objects says of each anchor: logits (N * anchors, classes), and
// the offsets of a box (N * anchors, 4).
struct Detection {
  graph::ValueId logits, offsets;
  ops::Anchors anchors;
};

inline constexpr std::int64_t kMostBoxes = 32;  // of an image that a network is trained on

struct NetworkInfo {
  std::string name;
  std::string family;
  std::string description;
  Shape input;             // (channel, row, column), or one dimension; of sequences: their length
  int classes;             // of sequences: the vocabulary
  std::string preprocess;  // what turns an image of the data set into the input; empty: it reads no images
  bool masked = false;     // of sequences: it is asked for masked tokens, not for the next ones
  // images (N, input) -> logits (N, classes); null: it is generated
  graph::ValueId (*build)(Builder& builder, graph::ValueId images, int classes) = nullptr;
  const generator::Generator* generator = nullptr;  // of a network that has parameters
  // Set for a network that finds objects in images; it has no `build`.
  Detection (*detect)(Builder& builder, graph::ValueId images, int classes) = nullptr;

  bool finds_boxes() const { return detect != nullptr; }
  bool reads_sequences() const { return generator != nullptr && generator->sequence != nullptr; }
};

// Each family describes its networks in a source file of generator or zoo; zoo.cpp joins them.
std::vector<NetworkInfo> alexnet_networks();
std::vector<NetworkInfo> cifarnet_networks();
std::vector<NetworkInfo> cnn_networks();
std::vector<NetworkInfo> deepmnist_networks();
std::vector<NetworkInfo> densenet_networks();
std::vector<NetworkInfo> fc_networks();
std::vector<NetworkInfo> googlenet_networks();
std::vector<NetworkInfo> inception3_networks();
std::vector<NetworkInfo> inception4_networks();
std::vector<NetworkInfo> inception_resnet_networks();
std::vector<NetworkInfo> lenet_networks();
std::vector<NetworkInfo> mix_networks();
std::vector<NetworkInfo> mobilenet_networks();
std::vector<NetworkInfo> overfeat_networks();
std::vector<NetworkInfo> resnet_networks();
std::vector<NetworkInfo> resnet_cifar_networks();
std::vector<NetworkInfo> retinanet_networks();
std::vector<NetworkInfo> rnn_networks();
std::vector<NetworkInfo> squeezenet_networks();
std::vector<NetworkInfo> transformer_networks();
std::vector<NetworkInfo> trivial_networks();
std::vector<NetworkInfo> vgg_networks();
std::vector<NetworkInfo> vit_networks();

}  // namespace trainyard::networks
