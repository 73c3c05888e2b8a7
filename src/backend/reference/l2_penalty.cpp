#include "ops/l2_penalty.h"

#include "backend/reference/functions.h"

namespace trainyard::backend::reference {

void l2_penalty(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    double squares = 0;
    for (int w = 0; w < args.node.inputs(); ++w) {
      const T* weight = args.input<T>(w);
      const std::int64_t elements = args.node.input_shape(w).elements();
      for (std::int64_t i = 0; i < elements; ++i) squares += static_cast<double>(weight[i]) * weight[i];
    }
    *args.output<T>(0) = static_cast<T>(args.node.attrs<ops::L2PenaltyAttrs>().coefficient / 2 * squares);
  });
}

void l2_penalty_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const double factor = args.node.attrs<ops::L2PenaltyAttrs>().coefficient * *args.input<T>(0);
    const T* weight = args.input<T>(1);
    T* d_weight = args.output<T>(0);
    const std::int64_t elements = args.node.output_shape(0).elements();
    for (std::int64_t i = 0; i < elements; ++i) d_weight[i] = static_cast<T>(factor * weight[i]);
  });
}

}  // namespace trainyard::backend::reference
