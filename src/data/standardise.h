#pragma once

#include "data/recipe.h"

namespace trainyard::data {

// Contrast, then (x - mean) / max(std, 1 / sqrt(n)) over the n values of all channels, in one pass of
// writing.
//
// With m_c, v_c the mean and variance of channel c in the window, contrast k makes k (x - m_c) + m_c; its
// mean over the image is still M = mean(m_c), and its variance is mean_c(k^2 v_c + (m_c - M)^2). So the whole
// is one affine map per channel. Brightness would add the same to x, m_c and M, and cancels exactly.
void standardise_window(const Sizes& sizes, const std::uint8_t* image, const Window& window, float contrast,
                        float* out);

// U(0.2, 1.8), as in TensorFlow's CIFAR-10 tutorial.
float random_contrast(const Philox::Block& draws);

}  // namespace trainyard::data
