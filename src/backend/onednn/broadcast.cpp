#include "ops/broadcast.h"

#include "backend/onednn/backend.h"
#include "backend/onednn/elementwise.h"
#include "backend/onednn/runtime/dnnl_kernel.h"

namespace trainyard::backend::onednn {
namespace {

// A Group is neighbouring axes, as they lie, over which the large tensor repeats the small one, or all of
// which both have. Groups of the two kinds take turns.
struct Group {
  std::int64_t length = 1;
  bool kept = true;
};

// Axes as they lie: a blocked layout has the lanes of a block as one more axis. Where channels are blocked,
// both tensors have the same.
std::vector<Group> groups_of(const Shape& small, const Shape& large, const Layout& layout) {
  std::vector<Group> axes;
  const auto append = [&](int axis) { axes.push_back({large[axis], small[axis] == large[axis]}); };
  if (layout.is_plain()) {
    for (int axis = 0; axis < large.rank(); ++axis) append(axis);
  } else {
    const ImageView image(layout, large);
    const bool channels_last = layout.blocks().empty();
    append(0);
    if (!channels_last) axes.push_back({image.blocks, true});
    append(2);
    append(3);
    axes.push_back({image.pixel_stride, true});
  }
  std::vector<Group> groups;
  for (const Group& axis : axes) {
    if (axis.length == 1) continue;
    if (!groups.empty() && groups.back().kept == axis.kept)
      groups.back().length *= axis.length;
    else
      groups.push_back(axis);
  }
  if (groups.empty()) groups.push_back({});
  return groups;
}

// A walk through all groups but the last, or through those of one kind, in the memory of one of the tensors.
struct Walk {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // length and stride, innermost first
  std::int64_t count = 1;

  std::int64_t offset(std::int64_t position) const {
    std::int64_t at = 0;
    for (const auto& [length, stride] : steps) {
      at += position % length * stride;
      position /= length;
    }
    return at;
  }
};

Walk walk_of(const std::vector<Group>& groups, std::optional<bool> kind, bool in_small) {
  Walk walk;
  std::int64_t stride = !in_small || groups.back().kept ? groups.back().length : 1;
  for (std::size_t i = groups.size() - 1; i-- > 0;) {
    const Group& group = groups[i];
    if (!kind || group.kept == *kind) {
      walk.steps.emplace_back(group.length, in_small && !group.kept ? 0 : stride);
      walk.count *= group.length;
    }
    if (!in_small || group.kept) stride *= group.length;
  }
  return walk;
}

float sum_of_run(const float* from, std::int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += from[i];
  return sum;
}

class Repeat final : public Kernel {
 public:
  Repeat(const graph::NodeView& node, KernelIo io)
      : Kernel(std::move(io)),
        groups_(groups_of(node.input_shape(0), node.output_shape(0), io_.outputs[0])),
        from_(walk_of(groups_, std::nullopt, true)) {}
  void bind(const Binding& binding) override { binding_ = binding; }
  void run(const StepContext&) override {
    const auto* src = reinterpret_cast<const float*>(binding_.inputs[0]);
    auto* dst = reinterpret_cast<float*>(binding_.outputs[0]);
    const std::int64_t run = groups_.back().length;
    parallel_chunks(from_.count, std::max<std::int64_t>(1, kElementwiseGrain / run),
                    [&](std::int64_t begin, std::int64_t end, int) {
                      for (std::int64_t i = begin; i < end; ++i) {
                        const float* line = src + from_.offset(i);
                        if (groups_.back().kept)
                          std::copy(line, line + run, dst + i * run);
                        else
                          std::fill(dst + i * run, dst + (i + 1) * run, *line);
                      }
                    });
  }

 private:
  const std::vector<Group> groups_;
  const Walk from_;
  Binding binding_;
};

// Sums runs into single numbers, or adds runs of which all numbers are kept: those in pieces that a core's
// nearest cache holds, so that threads can share one long run.
class Sum final : public Kernel {
 public:
  Sum(const graph::NodeView& node, KernelIo io)
      : Kernel(std::move(io)),
        groups_(groups_of(node.output_shape(0), node.input_shape(0), io_.inputs[0])),
        lines_(walk_of(groups_, true, false)),
        terms_(walk_of(groups_, false, false)) {}
  void bind(const Binding& binding) override { binding_ = binding; }
  void run(const StepContext&) override {
    const std::int64_t run = groups_.back().length;
    const bool adds = groups_.back().kept;
    const std::int64_t pieces = adds ? (run + kPiece - 1) / kPiece : 1;
    const std::int64_t work = terms_.count * std::min(run, adds ? kPiece : run);
    parallel_chunks(lines_.count * pieces, std::max<std::int64_t>(1, kElementwiseGrain / work),
                    [&](std::int64_t begin, std::int64_t end, int) {
                      for (std::int64_t i = begin; i < end; ++i)
                        if (adds)
                          add_runs(i / pieces, i % pieces * kPiece);
                        else
                          sum_runs(i);
                    });
  }

 private:
  static constexpr std::int64_t kPiece = 512;

  void sum_runs(std::int64_t line) const {
    const float* from = reinterpret_cast<const float*>(binding_.inputs[0]) + lines_.offset(line);
    double sum = 0;
    for (std::int64_t term = 0; term < terms_.count; ++term)
      sum += sum_of_run(from + terms_.offset(term), groups_.back().length);
    reinterpret_cast<float*>(binding_.outputs[0])[line] = static_cast<float>(sum);
  }

  void add_runs(std::int64_t line, std::int64_t first) const {
    const std::int64_t run = groups_.back().length, length = std::min(kPiece, run - first);
    const float* from = reinterpret_cast<const float*>(binding_.inputs[0]) + lines_.offset(line) + first;
    float* to = reinterpret_cast<float*>(binding_.outputs[0]) + line * run + first;
    std::copy(from, from + length, to);
    for (std::int64_t term = 1; term < terms_.count; ++term) {
      const float* added = from + terms_.offset(term);
#pragma omp simd
      for (std::int64_t e = 0; e < length; ++e) to[e] += added[e];
    }
  }

  const std::vector<Group> groups_;
  const Walk lines_, terms_;
  Binding binding_;
};

// Images stay as they lie where their channels are neither summed nor repeated.
template <typename Made>
std::unique_ptr<Kernel> make_kernel(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  const Shape &src = request.node.input_shape(0), &dst = request.node.output_shape(0);
  if (src.rank() == 4 && src[1] == dst[1] && is_vector_layout(request.input_or_plain(0)))
    io.inputs[0] = io.outputs[0] = request.input_or_plain(0);
  return std::make_unique<Made>(request.node, std::move(io));
}

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

}  // namespace

std::vector<Candidate> broadcast_candidates() {
  return {{&ops::repeat_op, "own:repeat", accept, make_kernel<Repeat>},
          {&ops::sum_op, "own:sum", accept, make_kernel<Sum>}};
}

}  // namespace trainyard::backend::onednn
