#include "ops/update.h"

#include "backend/flat_update.h"
#include "backend/kernel.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "base/parallel.h"

// One pass over the arenas. The planner lays parameters, gradients and each slot out in the same order, so
// what the node lists tensor by tensor is a few long ranges, usually one.
namespace trainyard::backend::onednn {
namespace {

struct Range {
  float *parameter, *gradient;
  std::array<float*, FlatUpdate::kMaxSlots> slot;
  std::int64_t count;
  bool decays;
};

// The squares of so many gradients are added up by one thread, and these sums in their order: the norm does
// not depend on the number of threads.
constexpr std::int64_t kNormPiece = 16384;

double sum_of_squares(const float* numbers, std::int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i)
    sum += static_cast<double>(numbers[i]) * static_cast<double>(numbers[i]);
  return sum;
}

class UpdateKernel final : public Kernel {
 public:
  UpdateKernel(const graph::NodeView& node, KernelIo io)
      : Kernel(std::move(io)),
        update_(node.attrs<ops::UpdateAttrs>()),
        clip_norm_(node.attrs<ops::UpdateAttrs>().clip_norm) {
    const int count = ops::updated_parameters(node);
    std::int64_t pieces = 0;
    for (int i = 0; i < count; ++i) {
      // Buffers end on whole cache lines and their padding is zero: updating it too lets neighbours join.
      const std::int64_t elements = io_.inputs[static_cast<std::size_t>(i)].elements(node.input_shape(i));
      floats_.push_back((elements + 15) / 16 * 16);
      decays_.push_back(ops::decays(node.attrs<ops::UpdateAttrs>(), node.input_shape(i)));
      pieces += (floats_.back() + kNormPiece - 1) / kNormPiece;
    }
    if (clip_norm_ > 0) io_.workspace_bytes = static_cast<std::size_t>(pieces) * sizeof(double);
  }

  void bind(const Binding& binding) override {
    ranges_.clear();
    const std::size_t count = floats_.size();
    const auto at = [&](std::size_t group, std::size_t i) {
      return reinterpret_cast<float*>(binding.inputs[group * count + i]);
    };
    for (std::size_t i = 0; i < count; ++i) {
      Range range{at(0, i), at(1, i), {}, floats_[i], decays_[i]};
      for (std::size_t s = 0; s < slots(); ++s) range.slot[s] = at(s + 2, i);
      if (ranges_.empty() || !extend(ranges_.back(), range)) ranges_.push_back(range);
    }
    if (clip_norm_ > 0) bind_pieces(binding.workspace);
  }

  void run(const StepContext& context) override {
    const float factor = clip_norm_ > 0 ? clip_factor() : 1;
    for (const Range& range : ranges_) {
      const auto arrays = FlatUpdate::in_place(range.parameter, range.gradient, range.slot);
      parallel_chunks(range.count, 16384, [&](std::int64_t begin, std::int64_t end, int) {
        update_.apply(arrays, begin, end, context.step, {range.decays, factor});
      });
    }
  }

 private:
  std::size_t slots() const { return static_cast<std::size_t>(update_.slots()); }

  void bind_pieces(std::byte* workspace) {
    pieces_.clear();
    for (const Range& range : ranges_)
      for (std::int64_t begin = 0; begin < range.count; begin += kNormPiece)
        pieces_.emplace_back(range.gradient + begin,
                             static_cast<std::size_t>(std::min(kNormPiece, range.count - begin)));
    sums_ = {reinterpret_cast<double*>(workspace), pieces_.size()};
    TRAINYARD_CHECK(sums_.size_bytes() <= io_.workspace_bytes);
  }

  // A norm that is no number must not go unseen, so the factor is none either.
  float clip_factor() {
    parallel_chunks(
        static_cast<std::int64_t>(pieces_.size()), 1, [&](std::int64_t begin, std::int64_t end, int) {
          for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
            sums_[i] = sum_of_squares(pieces_[i].data(), static_cast<std::int64_t>(pieces_[i].size()));
        });
    const double norm = std::sqrt(std::accumulate(sums_.begin(), sums_.end(), 0.0));
    return norm <= clip_norm_ ? 1 : static_cast<float>(clip_norm_ / norm);
  }

  // Buffers begin on cache lines and what lies between two of them is zero: updating that too lets them join.
  bool extend(Range& last, const Range& next) const {
    const std::int64_t step = (last.count + 15) / 16 * 16;
    bool adjacent = last.decays == next.decays && last.parameter + step == next.parameter &&
                    last.gradient + step == next.gradient;
    for (std::size_t s = 0; s < slots(); ++s) adjacent = adjacent && last.slot[s] + step == next.slot[s];
    if (adjacent) last.count = step + next.count;
    return adjacent;
  }

  FlatUpdate update_;
  const double clip_norm_;
  std::vector<std::int64_t> floats_;  // by parameter, as is the next
  std::vector<bool> decays_;
  std::vector<Range> ranges_;
  std::vector<std::span<const float>> pieces_;  // of all gradients, where they are clipped
  std::span<double> sums_;                      // of the squares of each piece
};

class AccumulateKernel final : public Kernel {
 public:
  AccumulateKernel(const graph::NodeView& node, KernelIo io)
      : Kernel(std::move(io)), micro_batches_(node.attrs<ops::AccumulateAttrs>().micro_batches) {
    for (int i = 0; i < node.inputs() / 3; ++i)
      elements_.push_back(io_.inputs[static_cast<std::size_t>(i)].elements(node.input_shape(i)));
  }

  // Gradients share their memory with what lives at other times, so what lies behind them is not added.
  void bind(const Binding& binding) override {
    pieces_.clear();
    const std::size_t count = elements_.size();
    for (std::size_t i = 0; i < count; ++i)
      for (std::int64_t begin = 0; begin < elements_[i]; begin += kPiece)
        pieces_.push_back({reinterpret_cast<const float*>(binding.inputs[count + i]) + begin,
                           reinterpret_cast<float*>(binding.inputs[2 * count + i]) + begin,
                           std::min(kPiece, elements_[i] - begin)});
  }

  void run(const StepContext& context) override {
    const bool first = context.step % micro_batches_ == 0;
    const float share = 1 / static_cast<float>(micro_batches_);
    parallel_chunks(static_cast<std::int64_t>(pieces_.size()), 1,
                    [&](std::int64_t begin, std::int64_t end, int) {
                      for (std::int64_t i = begin; i < end; ++i)
                        add(pieces_[static_cast<std::size_t>(i)], first, share);
                    });
  }

 private:
  static constexpr std::int64_t kPiece = 16384;
  struct Piece {
    const float* gradient;
    float* sum;
    std::int64_t count;
  };

  static void add(const Piece& piece, bool first, float share) {
    const float* gradient = piece.gradient;
    float* sum = piece.sum;
    if (first) {
#pragma omp simd
      for (std::int64_t i = 0; i < piece.count; ++i) sum[i] = gradient[i] * share;
    } else {
#pragma omp simd
      for (std::int64_t i = 0; i < piece.count; ++i) sum[i] += gradient[i] * share;
    }
  }

  const int micro_batches_;
  std::vector<std::int64_t> elements_;  // by parameter
  std::vector<Piece> pieces_;
};

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

// Everything takes the layout that its parameter already has.
KernelIo io_of(const KernelRequest& request, int parameters) {
  KernelIo io = plain_io(request.node);
  for (int i = 0; i < request.node.inputs(); ++i)
    io.inputs[static_cast<std::size_t>(i)] = request.input_or_plain(i % parameters);
  return io;
}

std::unique_ptr<Kernel> make_update(const KernelRequest& request) {
  return std::make_unique<UpdateKernel>(request.node, io_of(request, ops::updated_parameters(request.node)));
}

std::unique_ptr<Kernel> make_accumulate(const KernelRequest& request) {
  return std::make_unique<AccumulateKernel>(request.node, io_of(request, request.node.inputs() / 3));
}

}  // namespace

std::vector<Candidate> update_candidates() {
  return {{&ops::update_op, "own:update", accept, make_update},
          {&ops::accumulate_op, "own:accumulate", accept, make_accumulate}};
}

}  // namespace trainyard::backend::onednn
