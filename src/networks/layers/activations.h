#pragma once

#include "networks/builder.h"
#include "ops/pointwise.h"

namespace trainyard::networks::layers {

// Activating is the function of each number that a word such as "gelu" names, or none.
class Activating {
 public:
  static const std::vector<std::string>& words();  // "none" first

  explicit Activating(const std::string& word);  // REQUIRES: one of the words

  // What layers of the Builder add themselves; the rest comes behind them.
  ops::Activation fused() const { return fused_; }
  graph::ValueId behind(Builder& builder, const std::string& layer, graph::ValueId x) const;
  graph::ValueId apply(Builder& builder, const std::string& name, graph::ValueId x) const;

 private:
  std::string word_;
  ops::Activation fused_ = ops::Activation::none;
  std::optional<ops::SmoothKind> smooth_;
  std::optional<ops::PointwiseAttrs> pointwise_;
};

}  // namespace trainyard::networks::layers
