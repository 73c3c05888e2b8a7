#include "ops/sequence/position.h"

#include "backend/onednn/backend.h"
#include "backend/onednn/elementwise.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "base/parallel.h"

namespace trainyard::backend::onednn {
namespace {

// Calls body(t, first) for each row: its step, and the index of its first number.
template <typename Body>
void for_each_row(const ops::SequenceRows& rows, const Shape& src, const Body& body) {
  const std::int64_t width = src[1], sequences = rows.sequences(src[0]);
  parallel_chunks(src[0], std::max<std::int64_t>(1, kElementwiseGrain / width),
                  [&](std::int64_t begin, std::int64_t end, int) {
                    for (std::int64_t row = begin; row < end; ++row)
                      body(rows.batch_first ? row % rows.steps : row / sequences, row * width);
                  });
}

void run_add(const Arguments& arguments) {
  const std::int64_t width = arguments.node.input_shape(0)[1];
  const float *src = arguments.input<float>(0), *table = arguments.input<float>(1);
  float* dst = arguments.output<float>(0);
  for_each_row(arguments.node.attrs<ops::PositionsAttrs>().rows, arguments.node.input_shape(0),
               [=](std::int64_t t, std::int64_t first) {
#pragma omp simd
                 for (std::int64_t c = 0; c < width; ++c)
                   dst[first + c] = src[first + c] + table[t * width + c];
               });
}

// A thread makes whole rows of the table, so that each sum has one order.
void run_d_table(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::PositionsAttrs>();
  const std::int64_t all = arguments.node.input_shape(0)[0], width = arguments.node.input_shape(0)[1],
                     sequences = attrs.rows.sequences(all);
  const float* d_dst = arguments.input<float>(0);
  float* d_table = arguments.output<float>(0);
  parallel_chunks(attrs.positions, std::max<std::int64_t>(1, kElementwiseGrain / (width * sequences)),
                  [&](std::int64_t begin, std::int64_t end, int) {
                    for (std::int64_t t = begin; t < end; ++t) {
                      float* to = d_table + t * width;
                      std::fill_n(to, width, 0.0f);
                      for (std::int64_t n = 0; t < attrs.rows.steps && n < sequences; ++n) {
                        const float* from = d_dst + attrs.rows.row(n, t, all) * width;
#pragma omp simd
                        for (std::int64_t c = 0; c < width; ++c) to[c] += from[c];
                      }
                    }
                  });
}

// Rotary keeps the sines and cosines of all steps. It computes them once, or, where the place of the first
// step is an input, whenever that has changed.
class Rotary final : public Kernel {
 public:
  explicit Rotary(const KernelRequest& request)
      : Kernel(plain_io(request.node)),
        attrs_(request.node.attrs<ops::RotaryAttrs>()),
        shape_(request.node.input_shape(0)),
        cosines_(static_cast<std::size_t>(attrs_.rows.steps * attrs_.head_size / 2)),
        sines_(cosines_.size()) {
    io_.in_place = {{0, 0}};
    compute_angles();
  }

  void bind(const Binding& binding) override {
    src_ = reinterpret_cast<const float*>(binding.inputs[0]);
    dst_ = reinterpret_cast<float*>(binding.outputs[0]);
    if (binding.inputs.size() == 2) first_ = reinterpret_cast<const std::int32_t*>(binding.inputs[1]);
  }

  void run(const StepContext&) override {
    if (first_ != nullptr && *first_ != place_) {
      place_ = *first_;
      compute_angles();
    }
    const std::int64_t half = attrs_.head_size / 2, rotated = attrs_.heads * attrs_.head_size;
    for_each_row(attrs_.rows, shape_, [&](std::int64_t t, std::int64_t first) {
      const float *cosines = cosines_.data() + t * half, *sines = sines_.data() + t * half;
      for (std::int64_t at = first; at < first + rotated; at += attrs_.head_size) {
        const float* src = src_ + at;
        float* dst = dst_ + at;
#pragma omp simd
        for (std::int64_t i = 0; i < half; ++i) {
          const float a = src[i], b = src[i + half];
          dst[i] = a * cosines[i] - b * sines[i];
          dst[i + half] = a * sines[i] + b * cosines[i];
        }
      }
      if (src_ != dst_) std::copy(src_ + first + rotated, src_ + first + shape_[1], dst_ + first + rotated);
    });
  }

 private:
  void compute_angles() {
    const std::int64_t half = attrs_.head_size / 2;
    for (std::int64_t t = 0; t < attrs_.rows.steps; ++t)
      for (std::int64_t i = 0; i < half; ++i) {
        const double angle =
            (attrs_.inverse ? -1 : 1) * static_cast<double>(place_ + t) *
            std::pow(attrs_.base, -2 * static_cast<double>(i) / static_cast<double>(attrs_.head_size));
        cosines_[static_cast<std::size_t>(t * half + i)] = static_cast<float>(std::cos(angle));
        sines_[static_cast<std::size_t>(t * half + i)] = static_cast<float>(std::sin(angle));
      }
  }

  ops::RotaryAttrs attrs_;
  Shape shape_;
  std::int64_t place_ = 0;
  const std::int32_t* first_ = nullptr;
  std::vector<float> cosines_, sines_;
  const float* src_ = nullptr;
  float* dst_ = nullptr;
};

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

std::unique_ptr<Kernel> make_add(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  io.in_place = {{0, 0}};
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_add);
}

std::unique_ptr<Kernel> make_d_table(const KernelRequest& request) {
  return std::make_unique<FunctionKernel>(request.node, plain_io(request.node), run_d_table);
}

std::unique_ptr<Kernel> make_rotary(const KernelRequest& request) {
  return std::make_unique<Rotary>(request);
}

}  // namespace

std::vector<Candidate> position_candidates() {
  return {{&ops::add_positions_op, "own:add_positions", accept, make_add},
          {&ops::positions_d_table_op, "own:positions_d_table", accept, make_d_table},
          {&ops::rotary_op, "own:rotary", accept, make_rotary}};
}

}  // namespace trainyard::backend::onednn
