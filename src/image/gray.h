#pragma once

#include "image/image.h"

namespace trainyard::image {

// The weights of JPEG's luminance (ITU-R BT.601).
constexpr double kRedWeight = 0.299, kGreenWeight = 0.587, kBlueWeight = 0.114;

inline void gray_of(const Image& rgb, Image& out) {
  constexpr int kRed = static_cast<int>(kRedWeight * 65536 + 0.5),
                kBlue = static_cast<int>(kBlueWeight * 65536 + 0.5), kGreen = 65536 - kRed - kBlue;
  out.reshape(rgb.width(), rgb.height(), 1);
  const std::uint8_t* from = rgb.data();
  for (std::int64_t i = 0; i < out.bytes(); ++i, from += 3)
    out.data()[i] =
        static_cast<std::uint8_t>((kRed * from[0] + kGreen * from[1] + kBlue * from[2] + 32768) >> 16);
}

}  // namespace trainyard::image
