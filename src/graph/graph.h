#pragma once

#include <any>
#include <unordered_map>

#include "base/error.h"
#include "tensor/tensor.h"

namespace trainyard::graph {

struct OpDef;

using ValueId = int;
using NodeId = int;
inline constexpr int kNone = -1;

struct TensorType {
  Shape shape;
  DType dtype = DType::f32;

  std::int64_t bytes() const { return shape.elements() * static_cast<std::int64_t>(size_of(dtype)); }
  std::string to_string() const;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// A role says where a value comes from and how long it lives.
enum class Role : std::uint8_t {
  input,            // written by the caller before each step
  parameter,        // trained; lives in the parameter arena
  statistic,        // running statistics; lives across steps, not trained
  optimizer_state,  // momenta, averages; lives across steps
  gradient_sum,     // of several batches, which one update uses; lives until it has
  intermediate,     // made by a node, lives inside one step
};

const char* name(Role role);

// The phase `prepare` is not part of a step: it runs when parameters were changed from outside, and the
// update keeps its results current.
enum class Phase : std::uint8_t { prepare, forward, backward, update };

const char* name(Phase phase);

// An initializer gives the first content of a value: of parameters and state when training starts, of inputs
// in tests and benchmarks.
struct Initializer {
  enum class Kind : std::uint8_t { constant, uniform, normal, truncated_normal, integers, listed };
  Kind kind = Kind::constant;
  double a = 0;  // constant: the value; uniform, integers: lowest; normals: mean
  double b = 0;  // uniform: highest; integers: one past the highest; normals: standard deviation
  std::shared_ptr<const std::vector<double>> numbers = nullptr;  // listed: one for each element, or more

  static Initializer constant(double value) { return {Kind::constant, value, 0}; }
  static Initializer uniform(double low, double high) { return {Kind::uniform, low, high}; }
  static Initializer normal(double sigma) { return {Kind::normal, 0, sigma}; }
  static Initializer truncated_normal(double sigma) { return {Kind::truncated_normal, 0, sigma}; }
  static Initializer integers(double low, double end) { return {Kind::integers, low, end}; }
  // Lists content that has a meaning only as it is, for example the offsets of lists in a list.
  static Initializer listed(std::vector<double> numbers) {
    return {Kind::listed, 0, 0, std::make_shared<const std::vector<double>>(std::move(numbers))};
  }
};

struct Value {
  std::string name;
  TensorType type;
  Role role = Role::intermediate;
  NodeId producer = kNone;  // kNone for all roles but intermediate
  int output_index = 0;
  // The value this one is the gradient of, if any: the planner tries to lay both out alike.
  ValueId gradient_of = kNone;
  Initializer initializer{};
};

struct Node {
  const OpDef* op = nullptr;
  std::string name;
  Phase phase = Phase::forward;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::any attributes;  // the op's own attribute struct

  template <typename T>
  const T& attrs() const {
    const T* found = std::any_cast<T>(&attributes);
    TRAINYARD_CHECK(found != nullptr);
    return *found;
  }
};

// A Graph is a network for one batch size, in an order in which it can run: every node stands after the nodes
// it reads from, and a node that changes a value stands after all other readers of it.
class Graph {
 public:
  ValueId add_input(const std::string& name, TensorType type, Initializer initializer = {});
  ValueId add_parameter(const std::string& name, TensorType type, Initializer initializer);
  ValueId add_state(const std::string& name, TensorType type, Role role, Initializer initializer);

  // Appends a node; its output types come from the op's shape rule, which names the node when it refuses.
  std::vector<ValueId> add_node(const OpDef& op, const std::string& name, std::vector<ValueId> inputs,
                                std::any attributes = {});
  // Does the same for ops with a single output.
  ValueId add(const OpDef& op, const std::string& name, std::vector<ValueId> inputs,
              std::any attributes = {});

  // Outputs survive the step, in plain layout, under their value's name.
  void mark_output(ValueId value) { outputs_.push_back(value); }
  const std::vector<ValueId>& outputs() const { return outputs_; }

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Value>& values() const { return values_; }
  const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  const Value& value(ValueId id) const { return values_[static_cast<std::size_t>(id)]; }
  const Shape& shape(ValueId id) const { return value(id).type.shape; }
  DType dtype(ValueId id) const { return value(id).type.dtype; }
  std::vector<ValueId> values_with(Role role) const;
  ValueId find(std::string_view name) const;  // kNone when there is none

  void set_gradient_of(ValueId gradient, ValueId value) {
    values_[static_cast<std::size_t>(gradient)].gradient_of = value;
  }

  void set_initializer(ValueId value, Initializer initializer) {
    values_[static_cast<std::size_t>(value)].initializer = std::move(initializer);
  }

  // Nodes added from now on belong to this phase.
  void set_phase(Phase phase) { phase_ = phase; }

  // For passes: replaces the node list; values keep their ids, producers are set anew.
  void replace_nodes(std::vector<Node> nodes);

 private:
  ValueId add_value(Value value);
  std::string unique(const std::string& name);

  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<ValueId> outputs_;
  std::unordered_map<std::string, int> names_;
  Phase phase_ = Phase::forward;
};

// Writes one line for each node: "conv1 = conv2d(image, conv1/weight, conv1/bias) {5x5 ...} -> f32
// 50x32x28x28".
std::string to_text(const Graph& graph);
std::string to_text(const Graph& graph, NodeId node);

// Throws an internal Error when the graph breaks one of its own rules: a value read before it is made, two
// producers, types that the op would not infer, a change of something that is not state, or a change before
// another reader. Passes run it in debug builds; tests always do.
void verify(const Graph& graph);

}  // namespace trainyard::graph
