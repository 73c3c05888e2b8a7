#include "ops/max_pool.h"

#include "backend/onednn/image_view.h"
#include "backend/onednn/list.h"
#include "backend/onednn/max_pool_image.h"
#include "base/parallel.h"

namespace trainyard::backend::onednn {
namespace {

void run_forward(const Arguments& arguments) {
  const ImageView src(arguments.io.inputs[0], arguments.node.input_shape(0));
  const ImageView dst(arguments.io.outputs[0], arguments.node.output_shape(0));
  const auto& window = arguments.node.attrs<ops::MaxPoolAttrs>().window;
  with_lanes(src.lanes, [&]<int L>() {
    parallel_chunks(src.images, 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t n = begin; n < end; ++n)
        pool_image<L>(window, src, dst, arguments.input<float>(0) + n * src.image_stride,
                      arguments.output<float>(0) + n * dst.image_stride,
                      arguments.output<std::uint8_t>(1) + n * dst.image_stride);
    });
  });
}

void run_d_src(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::MaxPoolGradAttrs>();
  const ImageView dst(arguments.io.inputs[0], arguments.node.input_shape(0));
  const ImageView src(arguments.io.outputs[0], arguments.node.output_shape(0));
  with_lanes(src.lanes, [&]<int L>() {
    parallel_chunks(src.images, 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t n = begin; n < end; ++n)
        unpool_image<L>(attrs.window, src, dst, arguments.input<float>(0) + n * dst.image_stride,
                        arguments.input<std::uint8_t>(1) + n * dst.image_stride,
                        attrs.mask_by_dst ? arguments.input<float>(2) + n * dst.image_stride : nullptr,
                        arguments.output<float>(0) + n * src.image_stride);
    });
  });
}

Decision accept(const KernelRequest& request) { return wants_image(request.node); }

std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  const Layout layout = image_layout(request, 0);
  return std::make_unique<FunctionKernel>(request.node, KernelIo{{layout}, {layout, layout}, 0, {}},
                                          run_forward);
}

// Follows the layout in which the forward pass left the choice.
std::unique_ptr<Kernel> make_d_src(const KernelRequest& request) {
  const Layout layout = image_layout(request, 1);
  KernelIo io{{layout, layout}, {layout}, 0, {}};
  if (request.node.inputs() == 3) io.inputs.push_back(layout);
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_d_src);
}

}  // namespace

std::vector<Candidate> max_pool_candidates() {
  return {{&ops::max_pool_op, "own:max_pool", accept, make_forward},
          {&ops::max_pool_d_src_op, "own:max_pool_d_src", accept, make_d_src}};
}

}  // namespace trainyard::backend::onednn
