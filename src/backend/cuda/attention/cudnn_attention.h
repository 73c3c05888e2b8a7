#pragma once

#include "backend/cuda/runtime/cudnn_graph.h"
#include "backend/cuda/runtime/tuning.h"
#include "ops/sequence/attention.h"

namespace trainyard::backend::cuda {

// An AttentionProblem is attention in bf16 without padding and without dropout.
struct AttentionProblem {
  std::int64_t sequences, steps, heads, kv_heads, head_size;
  bool batch_first, causal;

  std::int64_t width() const { return (heads + 2 * kv_heads) * head_size; }
  std::string to_string() const;
};

// Holds the fastest engine of cuDNN for a problem.
struct PlannedAttention {
  AttentionProblem problem;
  ExecutionPlan plan;
  Tuned tuned;
};

// Attentions holds those planned so far; nodes of one shape share a plan.
class Attentions {
 public:
  // Null when cuDNN has no engine for it.
  std::shared_ptr<const PlannedAttention> find(Context& context, const AttentionProblem& problem);

 private:
  std::map<std::string, std::shared_ptr<const PlannedAttention>> planned_;
};

// Numbers that a graph takes by value; they outlive its descriptor of memory.
struct AttentionConstants {
  float scale, lowest = std::numeric_limits<float>::lowest();
};

// Tells a plan the memory of its tensors.
CudnnDescriptor attention_memory(const AttentionProblem& problem, AttentionConstants& constants,
                                 std::byte* qkv, std::byte* dst, std::byte* log_sums, std::byte* workspace);

}  // namespace trainyard::backend::cuda
