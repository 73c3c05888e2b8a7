#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "data/decode/decode.h"
#include "data/decode/test_images.h"

namespace trainyard::cli_test {

// Makes two classes, `daisy` and `rose`, of so many small PNGs each.
inline void make_image_folder(const std::filesystem::path& folder, int images = 3) {
  for (const std::string name : {"daisy", "rose"}) {
    std::filesystem::create_directories(folder / name);
    for (int i = 0; i < images; ++i) {
      const std::vector<std::byte> png =
          data::encode_png(data::flat_image(10, 12, 3, 40 * i + (name == "rose" ? 9 : 0)));
      std::ofstream(folder / name / (std::to_string(i) + ".png"), std::ios::binary)
          .write(reinterpret_cast<const char*>(png.data()), static_cast<std::streamsize>(png.size()));
    }
  }
}

}  // namespace trainyard::cli_test
