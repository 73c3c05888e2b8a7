#pragma once

#include "networks/generator/generator.h"
#include "networks/layers/expression.h"
#include "networks/layers/layer.h"
#include "ops/sequence/attention.h"

namespace trainyard::networks::layers {

// LayerBuilder writes the layers of a file into a graph. Whatever does not fit is an Error (config) that
// begins with the place in the file.
class LayerBuilder {
 public:
  static constexpr int kMostLayers = 20'000;       // of a network, repeated ones counted as often
  static constexpr double kMostWeights = 1e12;     // of a layer
  static constexpr double kMostNumbers = 1e11;     // that a layer makes of a sample
  static constexpr double kMostOperations = 1e17;  // of the matrix products of a pass

  // `length`: steps of sequences, 0 for other networks. `causal`: steps see only those before.
  LayerBuilder(Builder& builder, Variables variables, std::int64_t length = 0, bool causal = true);

  // From now on the layers are those for new steps of sequences, behind those that lie in caches.
  void decode(const generator::NewSteps& input) { new_steps_ = input; }

  // Returns the logits (N, classes), or (length * N, classes); of new steps those of the last one.
  graph::ValueId network(const std::vector<Layer>& layers, graph::ValueId x, int classes);

  // What follows is for the rows of layers.
  graph::ValueId branch(const Branch& branch, graph::ValueId x);
  // The same, with names that begin with "prefix/"; an empty prefix adds nothing.
  graph::ValueId branch_of(const std::string& prefix, const Branch& branch, graph::ValueId x);

  bool is_given(const Layer& layer, const char* option) const;
  std::int64_t whole(const Layer& layer, const char* option) const;
  double real(const Layer& layer, const char* option) const;
  bool flag(const Layer& layer, const char* option) const;
  std::string word(const Layer& layer, const char* option) const;
  Kernel kernel(const Layer& layer, const char* option) const;
  graph::ValueId output_of(const Text& name) const;  // of a layer before
  std::string full_name_of(const Text& name) const;
  const Text& text(const Layer& layer, const char* option) const;  // REQUIRES: it is given

  // Sets padding and pad of a spec.
  template <typename Spec>
  void set_padding(const Layer& layer, Spec& spec) const {
    const auto [padding, pad] = padding_of(layer);
    spec.padding = padding;
    spec.pad = pad;
  }

  Builder& builder() { return builder_; }
  graph::Graph& graph() { return builder_.graph(); }
  const Shape& shape(graph::ValueId x) const { return builder_.graph().shape(x); }
  std::int64_t length() const { return length_; }
  ops::SequenceRows sequence() const;  // the steps that are there: all of the length, or the new ones
  const std::optional<generator::NewSteps>& new_steps() const { return new_steps_; }
  bool is_causal() const { return causal_; }
  int classes() const { return classes_; }
  // Steps of sequences as rows (T * N, numbers), and as (T, N, numbers); other values as they are.
  graph::ValueId as_rows(graph::ValueId x);
  graph::ValueId as_steps(graph::ValueId x);
  // What the logits are made of: all rows, or of new steps those of the last one.
  graph::ValueId asked_rows(graph::ValueId x);
  Form form(graph::ValueId x) const;
  std::string describe(graph::ValueId x) const;  // "an image of 3x32x32"
  // Refuses a layer whose weights, a product of these dimensions, nobody could hold.
  void want_weights(std::initializer_list<std::int64_t> dims) const;
  // Refuses dimensions of a sample that nobody could hold.
  void want_numbers(std::initializer_list<std::int64_t> dims) const;

 private:
  graph::ValueId list(const std::vector<Layer>& layers, graph::ValueId x);
  graph::ValueId one(const Layer& layer, graph::ValueId x);
  std::string full_name(const Layer& layer);
  void want_form(const Layer& layer, const std::string& name, graph::ValueId x) const;
  void want_all_read(graph::ValueId result) const;
  void want_countable(std::size_t nodes_before, graph::ValueId made);
  std::pair<Padding, std::int64_t> padding_of(const Layer& layer) const;
  double number(const OptionRow& row, const Text& given) const;

  Builder& builder_;
  const Variables variables_;
  const std::int64_t length_;
  const bool causal_;
  std::optional<generator::NewSteps> new_steps_;
  int classes_ = 0;
  double batch_ = 1;
  std::string prefix_;
  int layers_ = 0;
  std::size_t values_seen_ = 0;
  double operations_ = 0;
  std::map<std::string, int> counts_;              // of layers without a name, by prefix and type
  std::map<std::string, graph::ValueId> outputs_;  // by the full name of their layer
  std::vector<std::pair<graph::ValueId, std::string>> places_;  // of parameters
};

// Throws Error (config) that begins with the place.
[[noreturn]] void complain(const std::string& place, const std::string& what);

}  // namespace trainyard::networks::layers
