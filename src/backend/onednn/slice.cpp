#include "ops/slice.h"

#include <algorithm>

#include "backend/onednn/copy_box.h"
#include "backend/onednn/list.h"

namespace trainyard::backend::onednn {
namespace {

void run(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::SliceAttrs>();
  const ImageView src(arguments.io.inputs[0], arguments.node.input_shape(0));
  const ImageView dst(arguments.io.outputs[0], arguments.node.output_shape(0));
  float* to = arguments.output<float>(0);
  if (dst.pads()) std::fill(to, to + dst.floats(), 0.0f);
  copy_box(src, arguments.input<float>(0), {attrs.begin[1], attrs.begin[2], attrs.begin[3]}, dst, to, {},
           dst.channels, dst.height, dst.width);
}

Decision accept(const KernelRequest& request) {
  const Decision image = wants_image(request.node);
  if (!image.accepted()) return image;
  if (request.node.input_shape(0)[0] != request.node.output_shape(0)[0])
    return Decision::no("cuts the batch");
  return Decision::yes();
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const Layout layout = image_layout(request, 0);
  return std::make_unique<FunctionKernel>(request.node, KernelIo{{layout}, {layout}, 0, {}}, run);
}

}  // namespace

std::vector<Candidate> slice_candidates() { return {{&ops::slice_op, "own:slice", accept, make}}; }

}  // namespace trainyard::backend::onednn
