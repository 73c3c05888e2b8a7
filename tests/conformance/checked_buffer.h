#pragma once

#include "graph/graph.h"
#include "tensor/layout.h"
#include "tensor/tensor.h"

namespace trainyard::conformance {

// A tensor in any layout that starts as NaN (integers: all bits set), with guard bytes behind it.
class CheckedBuffer {
 public:
  CheckedBuffer() = default;
  CheckedBuffer(graph::TensorType type, Layout layout);

  const graph::TensorType& type() const { return type_; }
  const Layout& layout() const { return layout_; }
  std::byte* data() const { return memory_.data(); }
  std::size_t bytes() const { return bytes_; }  // with padding, without guard
  std::size_t guarded_bytes() const { return memory_.bytes(); }
  bool guard_intact() const;
  bool padding_is_zero() const;
  bool same_bytes(const CheckedBuffer& other) const;
  CheckedBuffer copy() const;

 private:
  graph::TensorType type_;
  Layout layout_;
  std::size_t bytes_ = 0;
  AlignedBuffer memory_;
};

}  // namespace trainyard::conformance
