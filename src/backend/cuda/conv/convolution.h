#pragma once

#include "backend/cuda/runtime/cudnn_graph.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/tuning.h"
#include "ops/conv2d.h"

namespace trainyard::backend::cuda {

enum class ConvolutionKind : std::uint8_t { forward, d_src, d_weight };

// A ConvolutionProblem is a convolution without bias or activation; all tensors lie channels last and have
// one type.
struct ConvolutionProblem {
  ConvolutionKind kind;
  ops::Window2d window;
  Shape src, weight, dst;
  DType dtype;

  std::string to_string() const;
};

// Holds the fastest engine of cuDNN for a problem.
struct PlannedConvolution {
  ExecutionPlan plan;
  Tuned tuned;
};

// Convolutions holds the convolutions planned so far; nodes of one shape share a plan.
class Convolutions {
 public:
  // Null when cuDNN has no engine for it.
  std::shared_ptr<const PlannedConvolution> find(Context& context, const ConvolutionProblem& problem);

 private:
  std::map<std::string, std::shared_ptr<const PlannedConvolution>> planned_;
};

// A Convolution is a planned convolution that is bound to memory.
class Convolution {
 public:
  // REQUIRES: `planned` is not null.
  Convolution(Context& context, std::shared_ptr<const PlannedConvolution> planned)
      : context_(context), planned_(std::move(planned)) {}

  const Tuned& tuned() const { return planned_->tuned; }
  std::size_t workspace_bytes() const;
  // Each of the three is the tensor of its name or, for the one that is made, its gradient.
  void bind(std::byte* src, std::byte* weight, std::byte* dst, std::byte* workspace);
  void run() const { planned_->plan.run(context_, *memory_); }

 private:
  Context& context_;
  std::shared_ptr<const PlannedConvolution> planned_;
  std::optional<CudnnDescriptor> memory_;
};

// Simple loops that take any attributes; every tensor in its natural layout. With a pool, the workspace
// holds what lies between it and the convolution.
void conv2d_plain(const Launch& at);
void conv2d_d_src_plain(const Launch& at);
void conv2d_d_weight_plain(const Launch& at);
void conv2d_max_pool_plain(const Launch& at);
void conv2d_max_pool_d_weight_plain(const Launch& at);

}  // namespace trainyard::backend::cuda
