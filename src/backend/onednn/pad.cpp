#include "ops/pad.h"

#include <algorithm>

#include "backend/onednn/copy_box.h"
#include "backend/onednn/list.h"

namespace trainyard::backend::onednn {
namespace {

void run(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::PadAttrs>();
  const ImageView src(arguments.io.inputs[0], arguments.node.input_shape(0));
  const ImageView dst(arguments.io.outputs[0], arguments.node.output_shape(0));
  float* to = arguments.output<float>(0);
  std::fill(to, to + dst.floats(), 0.0f);
  copy_box(src, arguments.input<float>(0), {}, dst, to, {attrs.before[1], attrs.before[2], attrs.before[3]},
           src.channels, src.height, src.width);
}

Decision accept(const KernelRequest& request) {
  const Decision image = wants_image(request.node);
  if (!image.accepted()) return image;
  if (request.node.input_shape(0)[0] != request.node.output_shape(0)[0])
    return Decision::no("pads the batch");
  if (request.input_or_plain(0).is_plain())
    return Decision::no("a plain image stays plain: a copy costs less than a reorder");
  return Decision::yes();
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const Layout layout = image_layout(request, 0);
  return std::make_unique<FunctionKernel>(request.node, KernelIo{{layout}, {layout}, 0, {}}, run);
}

}  // namespace

std::vector<Candidate> pad_candidates() { return {{&ops::pad_op, "own:pad", accept, make}}; }

}  // namespace trainyard::backend::onednn
