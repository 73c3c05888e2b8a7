#include "ops/concat.h"

#include <algorithm>

#include "backend/onednn/copy_box.h"
#include "backend/onednn/list.h"

namespace trainyard::backend::onednn {
namespace {

void run(const Arguments& arguments) {
  const ImageView dst(arguments.io.outputs[0], arguments.node.output_shape(0));
  float* to = arguments.output<float>(0);
  BoxCorner corner;
  // The padding of the last block belongs to no part.
  if (dst.pads()) std::fill(to, to + dst.floats(), 0.0f);
  for (int i = 0; i < arguments.node.inputs(); ++i) {
    const ImageView part(arguments.io.inputs[static_cast<std::size_t>(i)], arguments.node.input_shape(i));
    copy_box(part, arguments.input<float>(i), {}, dst, to, corner, part.channels, part.height, part.width);
    corner.channel += part.channels;
  }
}

Decision accept(const KernelRequest& request) {
  if (request.node.attrs<ops::ConcatAttrs>().axis != 1) return Decision::no("joins channels only");
  return wants_image(request.node);
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const Layout layout = image_layout(request, 0);
  KernelIo io = plain_io(request.node);
  std::fill(io.inputs.begin(), io.inputs.end(), layout);
  io.outputs[0] = layout;
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run);
}

}  // namespace

std::vector<Candidate> concat_candidates() { return {{&ops::concat_op, "own:concat", accept, make}}; }

}  // namespace trainyard::backend::onednn
