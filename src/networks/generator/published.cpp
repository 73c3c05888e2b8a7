#include "networks/generator/published.h"

namespace trainyard::networks::generator {

namespace {

double product(std::int64_t a, std::int64_t b) { return static_cast<double>(a) * static_cast<double>(b); }

std::int64_t weights(const FcSizes& sizes, std::int64_t squares) {
  return squares * sizes.width * sizes.width + sizes.width * (sizes.inputs + sizes.classes);
}

}  // namespace

PublishedCounts published_fc(const FcSizes& sizes, std::int64_t batch, bool training) {
  const std::int64_t parameters = weights(sizes, sizes.layers - 1);
  return {parameters, (training ? 6 : 2) * product(batch, parameters)};
}

PublishedCounts remake_as_built(const FcSizes& sizes, std::int64_t batch) {
  const std::int64_t parameters = weights(sizes, sizes.layers);
  return {parameters + (sizes.layers + 1) * sizes.width + sizes.classes,
          6 * product(batch, parameters) - 2 * product(batch, sizes.width * sizes.inputs)};
}

double tpu_v2_core_bytes(const FcSizes& sizes, std::int64_t batch) {
  const double parameters = static_cast<double>(weights(sizes, sizes.layers - 1) +
                                                sizes.layers * sizes.width + sizes.classes),
               samples = static_cast<double>(batch) / 8;
  return 12 * parameters + 2 * 2 * samples * product(sizes.layers, sizes.width) +
         2 * samples * static_cast<double>(sizes.inputs);
}

}  // namespace trainyard::networks::generator
