#include "ops/update.h"

#include "backend/flat_update.h"
#include "backend/kernel.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/dnnl_kernel.h"
#include "base/parallel.h"

// One pass over the arenas. The planner lays parameters, gradients and each slot out in the same order, so
// what the node lists tensor by tensor is a few long ranges, usually one.
namespace trainyard::backend::onednn {
namespace {

struct Range {
  float *parameter, *gradient;
  std::array<float*, FlatUpdate::kMaxSlots> slot;
  std::int64_t count;
};

class UpdateKernel final : public Kernel {
 public:
  UpdateKernel(const graph::NodeView& node, KernelIo io)
      : Kernel(std::move(io)), update_(node.attrs<ops::UpdateAttrs>()) {
    const int count = ops::updated_parameters(node);
    // Buffers end on whole cache lines and their padding is zero: updating it too lets neighbours join.
    for (int i = 0; i < count; ++i)
      floats_.push_back((io_.inputs[static_cast<std::size_t>(i)].elements(node.input_shape(i)) + 15) / 16 *
                        16);
  }

  void bind(const Binding& binding) override {
    ranges_.clear();
    const std::size_t count = floats_.size();
    const auto at = [&](std::size_t group, std::size_t i) {
      return reinterpret_cast<float*>(binding.inputs[group * count + i]);
    };
    for (std::size_t i = 0; i < count; ++i) {
      Range range{at(0, i), at(1, i), {}, floats_[i]};
      for (std::size_t s = 0; s < slots(); ++s) range.slot[s] = at(s + 2, i);
      if (ranges_.empty() || !extend(ranges_.back(), range)) ranges_.push_back(range);
    }
  }

  void run(const StepContext& context) override {
    for (const Range& range : ranges_) {
      const auto arrays = FlatUpdate::in_place(range.parameter, range.gradient, range.slot);
      parallel_chunks(range.count, 16384, [&](std::int64_t begin, std::int64_t end, int) {
        update_.apply(arrays, begin, end, context.step);
      });
    }
  }

 private:
  std::size_t slots() const { return static_cast<std::size_t>(update_.slots()); }

  // Buffers begin on cache lines and what lies between two of them is zero: updating that too lets them join.
  bool extend(Range& last, const Range& next) const {
    const std::int64_t step = (last.count + 15) / 16 * 16;
    bool adjacent = last.parameter + step == next.parameter && last.gradient + step == next.gradient;
    for (std::size_t s = 0; s < slots(); ++s) adjacent = adjacent && last.slot[s] + step == next.slot[s];
    if (adjacent) last.count = step + next.count;
    return adjacent;
  }

  FlatUpdate update_;
  std::vector<std::int64_t> floats_;
  std::vector<Range> ranges_;
};

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

// Gradients and slots take the layout their parameter already has.
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const int count = ops::updated_parameters(node);
  KernelIo io = plain_io(node);
  for (int i = 0; i < node.inputs(); ++i)
    io.inputs[static_cast<std::size_t>(i)] = request.input_or_plain(i % count);
  return std::make_unique<UpdateKernel>(node, std::move(io));
}

}  // namespace

std::vector<Candidate> update_candidates() { return {{&ops::update_op, "own:update", accept, make}}; }

}  // namespace trainyard::backend::onednn
