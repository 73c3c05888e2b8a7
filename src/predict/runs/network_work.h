#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/graph.h"
#include "networks/generator/parameter.h"
#include "ops/update.h"
#include "tensor/tensor.h"

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

// Memory of the values that a step makes, when each is freed after its last reader and an elementwise node
// writes over an input that dies with it, as frameworks do. Gradients of parameters are counted apart, in
// `gradients`: an update at the end keeps them all.
struct LiveBytes {
  std::int64_t saved = 0;  // live when the backward pass begins
  std::int64_t peak = 0;   // the most at any time, without gradients of parameters
  std::int64_t gradients = 0;
};

LiveBytes live_bytes(const graph::Graph& graph);

// What a kernel waits for, as far as a model of its time has to tell kernels apart.
enum class KernelKind : std::uint8_t { product, norm, pool, elementwise, copy };

// Kernels that do the same, as a framework runs them that fuses nothing: a convolution, its bias and its
// activation are three.
struct KernelWork {
  KernelKind kind = KernelKind::elementwise;
  double count = 1;  // so many of them in a step
  double bytes = 0;  // each input read once, each output written once
  // Of products alone: results are rows x columns, each a sum over `inner`.
  double flops = 0;
  double rows = 0, columns = 0, inner = 0;
  double window = 1;       // area of a convolution's kernel
  bool strided = false;    // steps over positions, or is not square: no short algorithm is known
  bool of_weight = false;  // gradient of a weight
  bool dense = false;      // of matrices, no convolution
  double groups = 1;
};

// What a training step has to do, whatever device does it.
struct NetworkWork {
  std::int64_t batch = 1;
  std::vector<KernelWork> kernels;  // forward and backward; without weight decay and update
  double input_bytes = 0;           // of a batch
  double variables = 0;             // tensors that are trained
  double parameters = 0;            // numbers in them
  double state_slots = 0;           // numbers that the optimizer keeps for each parameter
  double forward_flops = 0, flops = 0;
  // Of memory, in bytes: what the backward pass reads of the forward pass, the largest live set of values
  // made within a step, and the largest inputs and outputs of one kernel.
  double saved_bytes = 0, peak_live_bytes = 0, largest_kernel_bytes = 0;

  double launches() const;
};

struct WorkOptions {
  std::string network;
  std::int64_t batch = 1;
  int classes = 0;  // 0: the network's own
  Shape input{};    // no dimension: the network's own
  ops::Rule optimizer = ops::Rule::sgd;
  networks::generator::Given parameters{};  // of a generated network
};

// Error (usage) when there is no such network.
NetworkWork work_of(const WorkOptions& options);

// Of any graph that holds a training step. REQUIRES: an update node.
NetworkWork work_of(const graph::Graph& graph, std::int64_t batch);

// The work of networks' training steps, each made once. References stay good.
class WorkCache {
 public:
  // `network` as the zoo or a table spells it. Error (config) names the nearest when there is none.
  const NetworkWork& work(const std::string& network, std::int64_t batch, int classes, ops::Rule optimizer,
                          const networks::generator::Given& parameters = {});

 private:
  std::map<std::tuple<std::string, std::int64_t, int, ops::Rule, networks::generator::Given>, NetworkWork>
      works_;
};

}  // namespace trainyard::predict
