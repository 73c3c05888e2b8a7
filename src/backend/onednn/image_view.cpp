#include "backend/onednn/image_view.h"

#include <string>

#include "backend/onednn/dnnl_kernel.h"

namespace trainyard::backend::onednn {
namespace {

const Layout& channels_last() {
  static const Layout layout = Layout::channels_last(4);
  return layout;
}

int widest_lanes(std::int64_t channels) {
  return channels % 16 == 0 ? 16 : channels % 8 == 0 ? 8 : channels % 4 == 0 ? 4 : 1;
}

}  // namespace

ImageView::ImageView(const Layout& layout, const Shape& shape)
    : images(shape[0]), channels(shape[1]), height(shape[2]), width(shape[3]) {
  TRAINYARD_CHECK(is_vector_layout(layout));
  const bool last = layout == channels_last();
  lanes = last ? widest_lanes(channels) : static_cast<int>(layout.block_of(1));
  blocks = (channels + lanes - 1) / lanes;
  pixel_stride = last ? channels : lanes;
  block_stride = last ? lanes : pixels() * lanes;
  image_stride = pixels() * blocks * lanes;
}

bool is_vector_layout(const Layout& layout) {
  static const Layout sixteen = Layout::parse("aBcd16b"), eight = Layout::parse("aBcd8b");
  return layout == channels_last() || layout == sixteen || layout == eight;
}

const Layout& preferred_image_layout() {
  static const Layout blocked = Layout::parse(has_matrix_convolutions() ? "acdb"
#ifdef __AVX512F__
                                                                        : "aBcd16b"
#else
                                                                        : "aBcd8b"
#endif
  );
  return blocked;
}

Layout image_layout(const KernelRequest& request, int input) {
  const Layout& layout = request.input_or_plain(input);
  return is_vector_layout(layout) ? layout : preferred_image_layout();
}

Decision wants_image(const graph::NodeView& node) {
  if (node.input_shape(0).rank() != 4) return Decision::no("wants an image of 4 dimensions");
  return wants_f32(node);
}

}  // namespace trainyard::backend::onednn
