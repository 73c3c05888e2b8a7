#include "backend/onednn/blocked_image.h"

#include "backend/onednn/dnnl_kernel.h"

namespace trainyard::backend::onednn {
namespace {

#ifdef __AVX512F__
constexpr const char* kPreferred = "aBcd16b";
#else
constexpr const char* kPreferred = "aBcd8b";
#endif

}  // namespace

BlockedImage::BlockedImage(const Layout& layout, const Shape& shape)
    : images(shape[0]),
      channels(shape[1]),
      blocks(layout.padded(shape)[1] / layout.block_of(1)),
      height(shape[2]),
      width(shape[3]),
      block(static_cast<int>(layout.block_of(1))) {}

bool is_blocked(const Layout& layout) {
  static const Layout sixteen = Layout::parse("aBcd16b"), eight = Layout::parse("aBcd8b");
  return layout == sixteen || layout == eight;
}

const Layout& preferred_blocked_layout() {
  static const Layout preferred = Layout::parse(kPreferred);
  return preferred;
}

Layout blocked_layout(const KernelRequest& request, int input) {
  const Layout& layout = request.input_or_plain(input);
  return is_blocked(layout) ? layout : preferred_blocked_layout();
}

Decision wants_image(const graph::NodeView& node) {
  if (node.input_shape(0).rank() != 4) return Decision::no("wants an image of 4 dimensions");
  return wants_f32(node);
}

}  // namespace trainyard::backend::onednn
