#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace trainyard {

// A NetworkEntry is one row of the table of networks that Trainyard knows by name.
struct NetworkEntry {
  std::string name, family, description;
  std::vector<std::string> parameters;  // that a generated network takes; empty: it takes none
};
std::vector<NetworkEntry> known_networks();

// The sizes and costs of one step, counted on the network's graph; nothing is run.
struct StepCost {
  std::int64_t parameters = 0;   // trained numbers
  std::int64_t flops = 0;        // of matrix products and convolutions, two for a multiply-add
  std::int64_t bytes_moved = 0;  // that the ops read and write
};

// A Network is a description of a network: a value that is cheap to copy, and immutable. train_network() and
// measure_network() start from random weights, or from those of the file that the network is read from. All
// functions throw Error; they are safe to call from several threads.
class Network {
 public:
  // Returns a network of the zoo, or a generated one ("fc", "cnn", "rnn", "mix") with its parameters by name:
  // Network::named("rnn", {{"cell", "gru"}, {"hidden", "64"}}) `classes` 0: as many as the network, or the
  // data it is trained on, has.
  static Network named(const std::string& name, const std::map<std::string, std::string>& parameters = {},
                       int classes = 0);

  // Returns a network from an ONNX file, which must have one input and one output: images (N, C, H, W) or
  // (N, numbers) and logits (N, classes), or token ids (N, steps) and logits (N, steps, vocabulary). Error
  // (unsupported) names the first op that cannot be trained.
  static Network from_onnx(const std::filesystem::path& file);

  // Returns the network that a YAML file of layers describes (docs/formats/network-yaml.md), with other
  // values of the parameters that it names. `classes` 0: as many as the file says. A process reads each file
  // once. Error (config) says line and column.
  static Network from_yaml(const std::filesystem::path& file,
                           const std::map<std::string, std::string>& parameters = {}, int classes = 0);

  const std::string& name() const;
  std::vector<std::int64_t> input_shape() const;  // of one sample; of sequences, their length
  int classes() const;                            // of sequences, the vocabulary
  bool reads_sequences() const;

  // Returns the cost of a training step, or of the forward pass alone.
  StepCost step_cost(std::int64_t batch, bool training = true) const;

  struct Parts;  // internal
  const Parts& parts() const { return *parts_; }

 private:
  explicit Network(std::shared_ptr<const Parts> parts);

  std::shared_ptr<const Parts> parts_;
};

}  // namespace trainyard
