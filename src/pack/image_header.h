#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace trainyard::pack {

// What the first bytes of an image file say.
struct ImageHeader {
  std::string format;  // "jpeg", "png"
  int height = 0, width = 0;
};

// Nothing when it is neither a JPEG nor a PNG, or ends before it says how large it is. Decodes nothing.
std::optional<ImageHeader> read_image_header(std::span<const std::byte> file);

}  // namespace trainyard::pack
