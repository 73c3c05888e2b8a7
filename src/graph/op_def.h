#pragma once

#include "graph/graph.h"

namespace trainyard::graph {

// A NodeView is a node together with the graph that knows the types of its values.
class NodeView {
 public:
  NodeView(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  const Graph& graph() const { return graph_; }
  const Node& node() const { return node_; }
  int inputs() const { return static_cast<int>(node_.inputs.size()); }
  int outputs() const { return static_cast<int>(node_.outputs.size()); }
  const Value& input(int i) const { return graph_.value(node_.inputs[static_cast<std::size_t>(i)]); }
  const Value& output(int i) const { return graph_.value(node_.outputs[static_cast<std::size_t>(i)]); }
  const Shape& input_shape(int i) const { return input(i).type.shape; }
  const Shape& output_shape(int i) const { return output(i).type.shape; }
  DType dtype() const { return input(0).type.dtype; }
  template <typename T>
  const T& attrs() const {
    return node_.attrs<T>();
  }

  // Throws an Error of kind shape that starts with op and node.
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    refuse_text(fmt::format(format, std::forward<Args>(args)...));
  }
  // The usual checks of a shape rule.
  void want_inputs(int least, int most) const;
  void want_rank(int input, int rank) const;

 private:
  [[noreturn]] void refuse_text(const std::string& text) const;
  const Graph& graph_;
  const Node& node_;
};

// The cost counts the work of a node. Multiply-adds of convolutions and matrix products are `flops` (two
// each); everything else is counted apart, because peaks are measured on matrix products.
struct Cost {
  std::int64_t flops = 0;
  std::int64_t elementwise_flops = 0;
  std::int64_t bytes_moved = 0;  // each input read once, each output written once

  Cost& operator+=(const Cost& other);
};

// A gradient rule works on this context: it adds nodes that compute the requested gradients.
class GradientContext {
 public:
  GradientContext(Graph& graph, NodeId node, std::vector<ValueId> d_outputs, std::vector<bool> needed);

  Graph& graph() { return graph_; }
  const Node& node() const { return node_; }
  ValueId input(int i) const { return node_.inputs[static_cast<std::size_t>(i)]; }
  ValueId output(int i) const { return node_.outputs[static_cast<std::size_t>(i)]; }
  // Returns the gradient of output i; kNone when the loss does not depend on it.
  ValueId d_output(int i) const { return d_outputs_[static_cast<std::size_t>(i)]; }
  bool needs(int input) const { return needed_[static_cast<std::size_t>(input)]; }
  void set(int input, ValueId gradient) { d_inputs_[static_cast<std::size_t>(input)] = gradient; }
  const std::vector<ValueId>& d_inputs() const { return d_inputs_; }
  std::string name(const char* suffix) const { return node_.name + suffix; }

 private:
  Graph& graph_;
  Node node_;  // a copy: adding nodes may move the graph's own
  std::vector<ValueId> d_outputs_, d_inputs_;
  std::vector<bool> needed_;
};

// A case is a small problem of an op. It serves conformance against the reference, the numeric gradient
// check, timing, and the support table. Inputs and parameters carry initializers that say how to fill them.
struct Case {
  std::string name;
  // Builds the problem in f32 or f64 and marks its outputs.
  std::function<void(Graph&, DType)> build;
};

// A lowering says how an op changes in a graph whose activations are bf16.
enum class Lowering : std::uint8_t {
  follows,   // works in the type of its inputs; where they differ, in f32
  computes,  // multiplies on matrix units: takes its floats in bf16, weights as rounded copies
  exact,     // stays in f32
  mixed,     // takes each input as it comes
};

// A category names the kind of work of an op; breakdowns of a step's time group by it. An op that does
// several kinds has the category of the longest part.
enum class Category : std::uint8_t {
  elementwise,
  gemm,
  conv,
  rnn,
  attention,
  norm,
  pool,
  loss,
  optimizer,
  copy,  // moves numbers: reorders, casts, look-ups
};
inline constexpr std::size_t kCategories = 10;

const char* name(Category category);

// InPlace lists the inputs in whose memory a GPU kernel of the op may put output 0, where they have its type
// and lie as it does.
enum class InPlace : std::uint8_t { none, first, second, any };

// This row ties an op together. Everything else about the op is found through it.
struct OpDef {
  const char* name;
  std::vector<TensorType> (*infer)(const NodeView&);
  Cost (*cost)(const NodeView&);
  void (*gradient)(GradientContext&) = nullptr;  // nullptr: stops the gradient
  std::vector<Case> (*cases)() = nullptr;
  // Indices of inputs the node changes in place; nullptr: none.
  std::vector<int> (*mutates)(const NodeView&) = nullptr;
  // The attributes in words, for `explain` and dumps; nullptr: none to show.
  std::string (*describe)(const NodeView&) = nullptr;
  Lowering lowering = Lowering::follows;
  Category category = Category::elementwise;
  // The row says how GPU kernels of the op use memory: backend/cuda makes them so, and predict plans so for
  // GPUs that are not here.
  InPlace in_place = InPlace::none;
  bool any_layout = false;  // takes its inputs as they lie, not images channels last
};

std::vector<int> mutated_inputs(const NodeView& node);

// Returns the bytes of all inputs and outputs, each once.
std::int64_t bytes_touched(const NodeView& node);

// Cost of ops that do `per_element` operations for each element of their first output.
Cost elementwise_cost(const NodeView& node, std::int64_t per_element);

}  // namespace trainyard::graph
