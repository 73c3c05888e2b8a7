#pragma once

// This header declares both parts of a recurrent layer: the element by element part of one step, between the
// matrix products, and the matrix products themselves.

#include <dnnl.hpp>

#include "ops/sequence/recurrent.h"
#include "tensor/layout.h"

namespace trainyard::backend::onednn {

// Numbers of a step, sequence by sequence; a stride of 0 gives every sequence the same ones: the zeros that
// stand before the first step.
struct StepRows {
  const float* data;
  std::int64_t stride;
};

struct GatesForward {
  ops::RecurrentCell cell;
  std::int64_t batch, hidden;
  float* gates;      // (N, G*H): W x + b, and U h but for gru, on the way in; activations on the way out
  StepRows product;  // U h of gru
  StepRows h_before, inner_before;
  float* inner;                      // (N, H); may be inner_before's. Of gru: or null
  float* dst;                        // (N, H); of rnn the same as gates
  const float* last_bias = nullptr;  // (H) of gru, that is added to U h of its last gate; null: none
};
void run_gates(const GatesForward& step);
void run_gates_here(const GatesForward& step);  // in the calling thread alone

struct GatesBackward {
  ops::RecurrentCell cell;
  std::int64_t batch, hidden;
  const float* d_dst;  // (N, H)
  StepRows d_product;  // what came back through the U of the step behind
  const float *gates, *inner, *dst;
  StepRows h_before, inner_before;
  float* d_state;    // (N, H): what comes from the step behind past its U, and is taken to the step before
  float* d_gates;    // (N, G*H): of W x + b
  float* d_u_gates;  // (N, G*H): of U h; the same as d_gates but for gru
};
void run_gates(const GatesBackward& step);
void run_gates_here(const GatesBackward& step);

// One matrix product of a recurrent layer: one primitive that runs on the numbers of several steps.

class Product {
 public:
  // Multiplies `rows` rows of `inputs` numbers with a weight (outputs, inputs).
  struct Sizes {
    std::int64_t rows, inputs, outputs;
    Shape weight() const { return {outputs, inputs}; }
  };
  enum class After : std::uint8_t { nothing, add_bias, add_to_dst };

  // dst = src * weight^T, and what comes after; arguments: src, weight, dst [, bias]
  static Product forward(const Sizes& sizes, const std::optional<Layout>& weight, After after);
  // d_src = d_dst * weight; arguments: d_dst, weight, d_src
  static Product d_src(const Sizes& sizes, const std::optional<Layout>& weight);
  // d_weight = d_dst^T * src, and its sum over rows; arguments: d_dst, src, d_weight [, d_bias]
  static Product d_weight(const Sizes& sizes, const std::optional<Layout>& weight, bool bias);

  // Returns the layout of the weight or its gradient: the one asked for, or the one that oneDNN prefers.
  Layout weight_layout() const;
  std::size_t scratch_bytes() const { return scratch_.get_size(); }

  void unbind();
  // Adds one more set of arguments. Allocates; run() does not.
  void bind(const std::vector<const float*>& data, std::byte* scratch);
  void run(std::size_t set) const;

 private:
  struct Argument {
    int id;  // DNNL_ARG_...
    dnnl::memory::desc desc;
  };
  Product(dnnl::primitive primitive, dnnl::memory::desc weight, dnnl::memory::desc scratch,
          std::vector<Argument> arguments);

  dnnl::primitive primitive_;
  dnnl::memory::desc weight_, scratch_;
  std::vector<Argument> arguments_;
  std::vector<std::vector<dnnl::memory>> memories_;
  std::vector<std::vector<dnnl_exec_arg_t>> sets_;
};

}  // namespace trainyard::backend::onednn
