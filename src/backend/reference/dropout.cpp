#include "ops/dropout.h"

#include "backend/reference/functions.h"
#include "base/philox.h"

namespace trainyard::backend::reference {

void dropout(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::DropoutAttrs>();
    const Philox random(args.context.seed,
                        mix_streams(static_cast<std::uint64_t>(args.context.step), attrs.stream));
    // The rate is compared in f32, in which every backend can do it, so that all of them drop the same.
    const auto rate = static_cast<float>(attrs.rate);
    const auto factor = static_cast<T>(1 / (1 - attrs.rate));
    const T* src = args.input<T>(0);
    T* dst = args.output<T>(0);
    const auto elements = static_cast<std::uint64_t>(args.node.output_shape(0).elements());
    for (std::uint64_t i = 0; i < elements; ++i)
      dst[i] = to_unit_float(random.word(i)) >= rate ? factor * src[i] : T(0);
  });
}

}  // namespace trainyard::backend::reference
