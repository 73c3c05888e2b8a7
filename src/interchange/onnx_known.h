#pragma once

#include <deque>
#include <unordered_map>

#include "interchange/onnx_model.h"

namespace trainyard::interchange {

// Says where an op that only moves numbers takes one of them from: input `input`, element `index`.
struct Origin {
  std::size_t input = 0;
  std::int64_t index = 0;
};

// A number that is added to a score hides its step when it is no more than this.
inline constexpr double kHidden = -1e4;

// The places begin, begin + step, ... of an axis that a slice takes.
struct Section {
  std::int64_t begin = 0, count = 0, step = 1;
};
// Returns them for bounds as files give them: negative ones count from the end, and they may lie outside.
// REQUIRES: step is not 0.
Section section_of(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step);

inline constexpr const char* kProducer = "trainyard";  // of our own files

// Sets the dimension of an input that the file leaves open: the first one, and the second of token ids in our
// own files, which lie step by step.
void set_open_batch(const onnx::Model& model, std::int64_t batch, TensorSpec& spec);

// KnownValues says what follows about the values of a model before it is imported, at one batch: types and
// shapes, and the numbers of those that depend on no sample. It follows the nodes in their order; any model
// may be given. What it cannot follow is unknown.
class KnownValues {
 public:
  // The model must outlive it, and its nodes may be replaced by others that make the same values.
  KnownValues(const onnx::Model& model, std::int64_t batch);

  // Returns an empty spec where nothing is known.
  const TensorSpec& spec(const std::string& value) const;
  // Returns whether the value is the same for all samples, and no weight takes part in it.
  bool is_constant(const std::string& value) const { return constants_.contains(value); }
  // Returns whether all outputs of the node are such values.
  bool makes_constants(const onnx::Node& node) const;
  // Returns such a value, or an initializer, as a tensor; nullptr for all others.
  const onnx::Tensor* constant(const std::string& value) const;
  // Returns the numbers of a value that depends on no sample, weights or not; nullptr where they do not
  // follow or are too many.
  std::shared_ptr<const std::vector<double>> numbers(const std::string& value) const;
  // Returns the single number of such a value.
  std::optional<double> number(const std::string& value) const;

  // Returns how output `output` of a node takes its elements from its inputs, nothing where it computes.
  std::optional<std::function<Origin(std::int64_t)>> movement(const onnx::Node& node,
                                                              std::size_t output = 0) const;
  const onnx::Node* maker(const std::string& value) const;

 private:
  std::vector<TensorSpec> followed_specs(const onnx::Node& node) const;
  std::shared_ptr<const std::vector<double>> numbers(const std::string& value, int depth) const;
  std::shared_ptr<const std::vector<double>> compute(const onnx::Node& node, std::size_t output,
                                                     int depth) const;
  void follow(const onnx::Node& node);

  std::unordered_map<std::string, TensorSpec> specs_;
  std::unordered_map<std::string, const onnx::Tensor*> initializers_;
  std::unordered_map<std::string, onnx::Node> makers_;
  std::unordered_map<std::string, onnx::Tensor> constants_;
  mutable std::unordered_map<std::string, std::shared_ptr<const std::vector<double>>> numbers_;
  mutable std::int64_t followed_ = 0;  // numbers that were computed
};

// Returns the specs of a node's outputs, as far as they follow from those of its inputs and from constants.
std::vector<TensorSpec> output_specs(const KnownValues& known, const onnx::Node& node,
                                     std::vector<TensorSpec> inputs);

}  // namespace trainyard::interchange
