#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "image/encode.h"

namespace trainyard::cli_test {

// Two classes, `daisy` and `rose`, of so many small PNGs each.
inline void make_image_folder(const std::filesystem::path& folder, int images = 3) {
  for (const std::string name : {"daisy", "rose"}) {
    std::filesystem::create_directories(folder / name);
    for (int i = 0; i < images; ++i) {
      const std::vector<std::uint8_t> pixels(12 * 10 * 3,
                                             static_cast<std::uint8_t>(40 * i + (name == "rose" ? 9 : 0)));
      const std::vector<std::byte> png = image::encode_png(pixels.data(), 12, 10, 3);
      std::ofstream(folder / name / (std::to_string(i) + ".png"), std::ios::binary)
          .write(reinterpret_cast<const char*>(png.data()), static_cast<std::streamsize>(png.size()));
    }
  }
}

}  // namespace trainyard::cli_test
