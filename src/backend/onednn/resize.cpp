#include "ops/resize.h"

#include "backend/onednn/backend.h"
#include "backend/onednn/elementwise.h"
#include "backend/onednn/runtime/dnnl_kernel.h"

namespace trainyard::backend::onednn {
namespace {

// The places of all pixels are found once; a thread has whole planes, so that no two add to the same.
class Resize final : public Kernel {
 public:
  // `backward`: the input is the gradient of the image that was made.
  Resize(const KernelRequest& request, bool backward)
      : Kernel(plain_io(request.node)),
        backward_(backward),
        small_(backward ? request.node.output_shape(0) : request.node.input_shape(0)),
        large_(backward ? request.node.input_shape(0) : request.node.output_shape(0)) {
    const ops::ResizePlaces places = request.node.attrs<ops::ResizeAttrs>().places;
    for (std::int64_t h = 0; h < large_[2]; ++h)
      rows_.push_back(ops::resize_tap({small_[2], large_[2], places}, h));
    for (std::int64_t w = 0; w < large_[3]; ++w)
      columns_.push_back(ops::resize_tap({small_[3], large_[3], places}, w));
  }

  void bind(const Binding& binding) override { binding_ = binding; }

  void run(const StepContext&) override {
    const auto* in = reinterpret_cast<const float*>(binding_.inputs[0]);
    auto* out = reinterpret_cast<float*>(binding_.outputs[0]);
    const std::int64_t small = small_[2] * small_[3], large = large_[2] * large_[3];
    parallel_chunks(large_[0] * large_[1], std::max<std::int64_t>(1, kElementwiseGrain / large),
                    [&](std::int64_t begin, std::int64_t end, int) {
                      for (std::int64_t plane = begin; plane < end; ++plane)
                        if (backward_)
                          scatter(in + plane * large, out + plane * small);
                        else
                          gather(in + plane * small, out + plane * large);
                    });
  }

 private:
  void gather(const float* src, float* dst) const {
    for (const ops::ResizeTap& row : rows_) {
      const float *upper = src + row.first * small_[3], *lower = src + row.second * small_[3];
      for (const ops::ResizeTap& column : columns_) {
        const float above = (1 - column.share) * upper[column.first] + column.share * upper[column.second],
                    below = (1 - column.share) * lower[column.first] + column.share * lower[column.second];
        *dst++ = (1 - row.share) * above + row.share * below;
      }
    }
  }

  void scatter(const float* d_dst, float* d_src) const {
    std::fill_n(d_src, small_[2] * small_[3], 0.0f);
    for (const ops::ResizeTap& row : rows_) {
      float *upper = d_src + row.first * small_[3], *lower = d_src + row.second * small_[3];
      for (const ops::ResizeTap& column : columns_) {
        const float above = (1 - row.share) * *d_dst, below = row.share * *d_dst++;
        upper[column.first] += (1 - column.share) * above;
        upper[column.second] += column.share * above;
        lower[column.first] += (1 - column.share) * below;
        lower[column.second] += column.share * below;
      }
    }
  }

  bool backward_;
  Shape small_, large_;  // the source, and what is made of it: which is larger does not matter
  std::vector<ops::ResizeTap> rows_, columns_;
  Binding binding_;
};

template <bool backward>
std::unique_ptr<Kernel> make_resize(const KernelRequest& request) {
  return std::make_unique<Resize>(request, backward);
}

}  // namespace

std::vector<Candidate> resize_candidates() {
  return {{&ops::resize_op, "own:resize", [](const KernelRequest& r) { return wants_image(r.node); },
           make_resize<false>},
          {&ops::resize_d_src_op, "own:resize_d_src",
           [](const KernelRequest& r) { return wants_image(r.node); }, make_resize<true>}};
}

}  // namespace trainyard::backend::onednn
