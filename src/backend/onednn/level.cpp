// Compiled once for each level, with everything that it calls of this folder. A level's objects become one
// object file of which this table is the only symbol that others see: inline functions of headers, which
// every object has for itself, would otherwise reach code that must run without these instructions
// (cmake/levels.cmake).

#include "backend/kernel_level.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/runtime/row_product.h"

#ifndef TRAINYARD_LEVEL  // it is the only one
#define TRAINYARD_LEVEL trainyard_level_base
#define TRAINYARD_LEVEL_NAME "native"
#endif

#ifdef TRAINYARD_LEVEL_MACRO
static_assert(TRAINYARD_LEVEL_MACRO == 1, "the flags of the level did not arrive");
#endif

namespace trainyard::backend::onednn {
namespace {

bool product_is_right() {
  constexpr std::int64_t kSize = 40;
  const std::vector<float> a(kSize * kSize, 1), b(kSize * kSize, 2);
  std::vector<float> c(kSize * kSize);
  multiply_rows({kSize, kSize, kSize}, rows_of(a.data(), kSize), b.data(), kSize, c.data(), kSize,
                StartRow::zero());
  return c.back() == 2.0f * kSize;
}

}  // namespace
}  // namespace trainyard::backend::onednn

extern "C" {
extern const trainyard::backend::KernelLevel TRAINYARD_LEVEL;
// constinit: a constructor that runs at the start would run these instructions on every machine.
constinit const trainyard::backend::KernelLevel TRAINYARD_LEVEL = {
    .name = TRAINYARD_LEVEL_NAME,
    .flat_update = trainyard::backend::flat_update_loop,
    .make_onednn = trainyard::backend::onednn::make_backend_of_level,
    .product_is_right = trainyard::backend::onednn::product_is_right};
}
