#pragma once

#include <tuple>

#include "graph/graph.h"
#include "networks/zoo/zoo.h"
#include "ops/update.h"
#include "tensor/tensor.h"

namespace trainyard::predict {

// DataSetSheet holds what a data set gives to a training run.
struct DataSetSheet {
  const char* name;
  double images;  // of an epoch
  int classes;    // with one for the background, as tf_cnn_benchmarks counts them
  Shape image;    // (channel, row, column)

  bool has_small_images() const { return image[1] <= kLargestSmallSide; }
  static constexpr std::int64_t kLargestSmallSide = 32;
};

const std::vector<DataSetSheet>& known_data_sets();

// Ignores the case of letters and all but letters and digits: "CIFAR-10" is cifar10. Returns nothing for an
// unknown data set.
const DataSetSheet* find_data_set(std::string_view name);

// Returns the letters and digits of a name, in lower case.
std::string squeezed(std::string_view name);

// NamedNetwork is a network of the zoo, with the input that a run of that name had.
struct NamedNetwork {
  std::string network;
  Shape input{};  // no dimension: the network's own
};

// Finds the network that tables of tf_cnn_benchmarks call so on a data set, in any of the usual spellings:
// densenet40-k12, DenseNet40_k12, inception_v3, resnet110_cifar10, alexnet. A data set that is empty or
// unknown changes nothing. The name of a network's file is its own. Returns nothing when the zoo has no such
// network.
std::optional<NamedNetwork> find_named_network(std::string_view name, std::string_view data_set = "");

// Finds the same; throws Error (config) with the nearest names.
NamedNetwork named_network(std::string_view name, std::string_view data_set = "");

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
  std::string network;  // of the zoo, or as tables spell it
  std::int64_t batch = 1;
  int classes = 0;  // 0: the network's own
  Shape input{};    // no dimension: as the name says
  ops::Rule optimizer = ops::Rule::sgd;
  networks::generator::Given parameters{};  // of a generated network
};

// Builds the network with its training step. Throws Error (config) naming the nearest network when there is
// no such one, (unsupported) when none of ours can be made of its file.
networks::Model training_model(const WorkOptions& options);

// Throws as training_model. Of a file that no training of ours can be made of (graph_work.h) it is the work
// of the graph.
NetworkWork work_of(const WorkOptions& options);

// Counts the work of any graph that holds a training step. REQUIRES: an update node.
NetworkWork work_of(const graph::Graph& graph, std::int64_t batch);

// Equal options have equal keys.
using WorkKey =
    std::tuple<std::string, std::int64_t, int, std::string, ops::Rule, networks::generator::Given>;
WorkKey key_of(const WorkOptions& options);

// WorkCache owns the work of networks' training steps, each made once. References stay valid.
class WorkCache {
 public:
  // Throws as training_model.
  const NetworkWork& work(const WorkOptions& options);

 private:
  std::map<WorkKey, NetworkWork> works_;
};

}  // namespace trainyard::predict
