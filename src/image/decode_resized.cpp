#include "image/decode_resized.h"

namespace trainyard::image {

Image& decode_scratch() {
  thread_local Image scratch;
  return scratch;
}

void decode_resized(EncodedImage& image, const Box& box, std::int64_t channels, const ResizeTo& to,
                    std::uint8_t* out) {
  Image& decoded = decode_scratch();
  const Box found = image.decode(
      {.box = box, .channels = channels, .least_width = to.width, .least_height = to.height}, decoded);
  resize(decoded, found, to, out);
}

}  // namespace trainyard::image
