#include "ops/dense_update.h"

#include "backend/reference/functions.h"
#include "backend/reference/update_rule.h"

namespace trainyard::backend::reference {

void dense_update(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::UpdateAttrs>();
    const UpdateStep step(attrs, args.context.step);
    const std::int64_t batch = args.node.input_shape(0)[0], outputs = args.node.input_shape(0)[1];
    const std::int64_t inputs = args.node.input_shape(2).elements_from(1);
    const T *d_dst = args.input<T>(0), *src = args.input<T>(1);
    const int used = slots_used(attrs.rule);
    const bool shadows = attrs.ema_decay > 0;
    const auto updated = [&](int parameter) {
      const auto state = [&](int group) { return args.state<T>(2 + 2 * group + parameter); };
      return Updated<T>{.parameter = state(0),
                        .slot0 = used > 0 ? state(1) : nullptr,
                        .slot1 = used > 1 ? state(2) : nullptr,
                        .shadow = shadows ? state(1 + used) : nullptr};
    };
    update_parameter<T>(attrs, step, updated(0), outputs * inputs, [&](std::int64_t e) {
      double sum = 0;
      for (std::int64_t n = 0; n < batch; ++n)
        sum += static_cast<double>(d_dst[n * outputs + e / inputs]) * src[n * inputs + e % inputs];
      return sum;
    });
    update_parameter<T>(attrs, step, updated(1), outputs, [&](std::int64_t o) {
      double sum = 0;
      for (std::int64_t n = 0; n < batch; ++n) sum += d_dst[n * outputs + o];
      return sum;
    });
    if (attrs.rounded_copies > 0)
      round_copy(args.input<T>(2), outputs * inputs, args.state<BFloat16>(args.node.inputs() - 1));
  });
}

}  // namespace trainyard::backend::reference
