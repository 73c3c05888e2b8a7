#pragma once

#include "interchange/onnx_known.h"
#include "interchange/text_format.h"

namespace trainyard::interchange {

// Reads one node: its inputs' specs and the whole numbers that it gets as attributes or as constants.
class NodeFacts {
 public:
  NodeFacts(const KnownValues& known, const onnx::Node& node, std::vector<TensorSpec> specs)
      : known_(known), node_(node), specs_(std::move(specs)) {}

  const TensorSpec& input(std::size_t i) const {
    static const TensorSpec kNothing;
    return i < specs_.size() ? specs_[i] : kNothing;
  }
  std::size_t inputs() const { return specs_.size(); }
  std::optional<std::vector<std::int64_t>> integers(std::size_t i, const char* attribute = "") const {
    if (i < node_.inputs.size() && !node_.inputs[i].empty()) {
      const auto numbers = known_.numbers(node_.inputs[i]);
      if (numbers == nullptr) return std::nullopt;
      std::vector<std::int64_t> dims;
      const auto most = static_cast<double>(kMaxElements);
      for (const double number : *numbers)
        dims.push_back(std::isnan(number) ? 0 : static_cast<std::int64_t>(std::clamp(number, -most, most)));
      return dims;
    }
    return node_.find(attribute) != nullptr ? std::optional(node_.integers(attribute)) : std::nullopt;
  }
  std::int64_t axis(const char* name, std::int64_t otherwise, std::int64_t rank) const {
    const std::int64_t given = node_.integer(name, otherwise);
    return given < 0 ? given + rank : given;
  }

 private:
  const KnownValues& known_;
  const onnx::Node& node_;
  const std::vector<TensorSpec> specs_;
};

inline std::int64_t rank_of(const TensorSpec& spec) { return static_cast<std::int64_t>(spec.dims.size()); }

inline TensorSpec of_dims(const TensorSpec& like, std::vector<std::int64_t> dims) {
  return {true, std::move(dims), like.dtype};
}

// The first output of ops on images, nothing where it does not follow.
std::optional<TensorSpec> convolved(const NodeFacts& facts, const onnx::Node& node);
std::optional<TensorSpec> pooled(const NodeFacts& facts, const onnx::Node& node);
std::optional<TensorSpec> resized(const KnownValues& known, const NodeFacts& facts, const onnx::Node& node);
std::optional<TensorSpec> padded(const NodeFacts& facts);

}  // namespace trainyard::interchange
