#pragma once

#include <tuple>

#include "graph/graph.h"
#include "networks/zoo/zoo.h"
#include "ops/update.h"
#include "tensor/tensor.h"

namespace trainyard::predict {

// NamedNetwork is a network of the zoo, with the input that a run of that name had.
struct NamedNetwork {
  std::string network;
  Shape input{};  // no dimension: the network's own
};

// Finds the network that tables of tf_cnn_benchmarks call so, in any of the usual spellings: densenet40-k12,
// DenseNet40_k12, inception_v3, resnet110_cifar10, alexnet. The name of a network's file is its own. Returns
// nothing when the zoo has none.
std::optional<NamedNetwork> find_named_network(std::string_view name);

// Finds the same; throws Error (config) with the nearest names.
NamedNetwork named_network(std::string_view name);

// LiveBytes is the memory of the values that a step makes, when each is freed after its last reader and an
// elementwise node overwrites an input that dies with it, as in frameworks. Gradients of parameters are
// counted apart, in `gradients`, because an update at the end keeps them all.
struct LiveBytes {
  std::int64_t saved = 0;  // live when the backward pass begins
  std::int64_t peak = 0;   // the most at any time, without gradients of parameters
  std::int64_t gradients = 0;
};

LiveBytes live_bytes(const graph::Graph& graph);

// KernelKind tells kernels apart by their limiting resource, as far as a model of their time needs it.
enum class KernelKind : std::uint8_t { product, norm, pool, elementwise, copy };

// KernelWork is a set of equal kernels, as a framework without fusion runs them: a convolution, its bias and
// its activation are three.
struct KernelWork {
  KernelKind kind = KernelKind::elementwise;
  double count = 1;  // so many of them in a step
  double bytes = 0;  // each input read once, each output written once
  // Only for products: results are rows x columns, each a sum over `inner`.
  double flops = 0;
  double rows = 0, columns = 0, inner = 0;
  double window = 1;       // area of a convolution's kernel
  bool strided = false;    // steps over positions, or is not square: no short algorithm is known
  bool of_weight = false;  // gradient of a weight
  bool dense = false;      // of matrices, no convolution
  double groups = 1;
};

// NetworkWork is the work of a training step, independent of the device that does it.
struct NetworkWork {
  std::int64_t batch = 1;
  std::vector<KernelWork> kernels;  // forward and backward; without weight decay and update
  double input_bytes = 0;           // of a batch
  double variables = 0;             // tensors that are trained
  double parameters = 0;            // numbers in them
  double state_slots = 0;           // numbers that the optimizer keeps for each parameter
  double forward_flops = 0, flops = 0;
  // Memory in bytes: the values of the forward pass that the backward pass reads, the largest live set of
  // values made within a step, and the largest inputs and outputs of one kernel.
  double saved_bytes = 0, peak_live_bytes = 0, largest_kernel_bytes = 0;
  // Of a graph that is no network of ours (graph_work.h).
  bool forward_only = false;             // it has no gradients: a step is one forward pass
  double unknown_share = 0;              // of its ops: those whose work is not known
  std::vector<std::string> unknown_ops;  // "TopK 2", by type

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

// Returns the training step. Throws Error (usage) when there is no such network, (unsupported) when none of
// ours can be made of its file.
networks::Model build_training_step(const WorkOptions& options);

// Of a file that no training of ours can be made of (graph_work.h) it is the work of the graph. Throws Error
// (usage) when there is no such network.
NetworkWork work_of(const WorkOptions& options);

// Counts the work of any graph that holds a training step. REQUIRES: an update node.
NetworkWork work_of(const graph::Graph& graph, std::int64_t batch);

// WorkCache owns the work of networks' training steps, each made once. References stay valid.
class WorkCache {
 public:
  // `network` is spelled as in the zoo or a table. Throws Error (config) naming the nearest when there is
  // none.
  const NetworkWork& work(const std::string& network, std::int64_t batch, int classes, ops::Rule optimizer,
                          const networks::generator::Given& parameters = {});

 private:
  std::map<std::tuple<std::string, std::int64_t, int, ops::Rule, networks::generator::Given>, NetworkWork>
      works_;
};

}  // namespace trainyard::predict
