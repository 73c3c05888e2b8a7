#pragma once

#include "engine/executor.h"
#include "engine/plain_order.h"
#include "graph/graph.h"
#include "tensor/layout.h"

namespace trainyard::engine {

// Returns the tensors that lie in a region, as they follow each other there: in the order of the graph's
// values, and gradients in that of their parameters.
std::vector<const plan::Buffer*> tensors_in(const plan::StepPlan& plan, plan::Region region);

// Presents tensors of an executor as one array that workers with other kernels understand too: f32, in plain
// layout, in the order of tensors_in(), without gaps. It copies with all threads and allocates nothing after
// construction, on a device too, where it owns host memory to copy through. The executor's thread uses it,
// and the executor must outlive it.
class CanonicalArray {
 public:
  static CanonicalArray parameters(Executor& executor);
  static CanonicalArray gradients(Executor& executor);
  static CanonicalArray statistics(Executor& executor);
  // Returns the optimizer's slot of this number, in the order of ops::slot_names.
  static CanonicalArray slot(Executor& executor, int number);

  std::int64_t elements() const { return elements_; }
  // Returns whether the executor's memory already is this array, as floats() gives it.
  bool is_native() const { return native_; }
  std::span<float> floats() const;

  // REQUIRES: elements() numbers; where they are written, that the tensors are f32.
  void gather(std::span<float> to) const;
  void scatter(std::span<const float> from);
  // Gathers only the tensors in a stretch of the region (in floats, as Executor::run_gradients tells), into
  // their place in the array, which is returned. REQUIRES: on the host; whole tensors.
  Stretch gather(const Stretch& of_region, std::span<float> to) const;

 private:
  struct Tensor {
    std::size_t offset;  // bytes, in the memory that all of them take
    Stretch place;       // in the array
    bool rounded;        // bf16
    PlainOrder order;
  };

  CanonicalArray(Executor& executor, const std::vector<const plan::Buffer*>& buffers);
  std::byte* memory() const { return executor_.region(region_) + begin_; }
  void gather(const Tensor& tensor, const std::byte* memory, std::span<float> to) const;

  Executor& executor_;
  plan::Region region_;
  std::size_t begin_ = 0, bytes_ = 0;  // in the region
  std::int64_t elements_ = 0;
  bool native_ = false;
  std::vector<Tensor> tensors_;
  AlignedBuffer rounded_;                       // for one tensor of bf16
  std::unique_ptr<backend::CopyQueue> pinned_;  // for its memory, which copies to and from devices faster
  AlignedBuffer pageable_;                      // where there is no such
  std::byte* staging_ = nullptr;                // one of them, or null on the host
};

// Calls run_gradients() into an array; `ready` receives stretches of that array. A device's gradients arrive
// all at once. `gradients` is CanonicalArray::gradients() of the executor.
void run_gradients(Executor& executor, const backend::StepContext& context, const CanonicalArray& gradients,
                   std::span<float> to, const Executor::Ready& ready);

// Writes the first content of one tensor, element by element through its layout (no copy in plain order is
// made, so the peak of memory is the plan's). The content depends on seed, name and logical index alone.
void fill(const graph::Initializer& initializer, const std::string& name, std::uint64_t seed,
          const graph::TensorType& type, const Layout& layout, std::byte* data);

// Parameters and statistics of a plan.
void initialise_state(Executor& executor, std::uint64_t seed);

// A slot "w:ema" starts as its parameter "w" does.
void initialise_optimizer(Executor& executor, std::uint64_t seed);

// Inputs with random content, for benchmarks and tests.
void initialise_inputs(Executor& executor, std::uint64_t seed);

}  // namespace trainyard::engine
