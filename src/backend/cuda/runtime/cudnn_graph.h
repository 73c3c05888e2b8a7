#pragma once

#include <cudnn.h>

#include "backend/cuda/runtime/context.h"
#include "tensor/layout.h"

// These classes are a thin layer over cuDNN's graph interface.
namespace trainyard::backend::cuda {

// Attributes are set, then it is finalized and can be used in others, which keep what they need of it.
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  cudnnBackendDescriptor_t get() const { return descriptor_; }
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* values);
  void set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values);
  void set(cudnnBackendAttributeName_t name, std::int64_t value);
  void set(cudnnBackendAttributeName_t name, float value);
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value);
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value);
  void set(cudnnBackendAttributeName_t name, const std::vector<CudnnDescriptor>& values);
  // Error (device) when cuDNN refuses.
  void finalize();
  // Returns false when cuDNN refuses, which is how it says "not supported".
  [[nodiscard]] bool try_finalize();

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

CudnnDescriptor tensor_descriptor(std::int64_t uid, const Shape& shape, const Layout& layout, DType dtype);

// One way to run a graph of operations: an engine and the settings of its knobs.
struct EngineChoice {
  std::int64_t engine = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> knobs;  // type, value

  std::string to_string() const;  // "52", "52 2=1 14=3"
  // Returns nothing when to_string() did not write the text.
  static std::optional<EngineChoice> parse(std::string_view text);
};

class ExecutionPlan;

// Operations of which cuDNN has one or more ways to run them.
class OperationGraph {
 public:
  OperationGraph(Context& context, const CudnnDescriptor& operation);
  OperationGraph(Context& context, const std::vector<CudnnDescriptor>& operations);

  // Plans of at most `most` engines, the promising ones first; those that are not exact enough for the
  // context's precision, that differ from run to run, or that want too much workspace are left out.
  std::vector<ExecutionPlan> plans(std::size_t most) const;
  // Returns nothing when this cuDNN does not have the engine.
  std::optional<ExecutionPlan> plan(const EngineChoice& choice) const;

 private:
  std::vector<CudnnDescriptor> heuristic_configs(cudnnBackendHeurMode_t mode) const;

  Context& context_;
  CudnnDescriptor graph_;
};

class ExecutionPlan {
 public:
  ExecutionPlan(CudnnDescriptor config, CudnnDescriptor plan, EngineChoice choice,
                std::size_t workspace_bytes)
      : config_(std::move(config)),
        plan_(std::move(plan)),
        choice_(std::move(choice)),
        workspace_bytes_(workspace_bytes) {}

  const EngineChoice& choice() const { return choice_; }
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  // Tells run() the memory of each tensor.
  static CudnnDescriptor variant_pack(const std::vector<std::int64_t>& uids,
                                      const std::vector<void*>& pointers, void* workspace);
  void run(Context& context, const CudnnDescriptor& variant_pack) const;

 private:
  CudnnDescriptor config_, plan_;
  EngineChoice choice_;
  std::size_t workspace_bytes_;
};

}  // namespace trainyard::backend::cuda
