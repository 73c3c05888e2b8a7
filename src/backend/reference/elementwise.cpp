#include "backend/reference/elementwise.h"

#include "backend/reference/backend.h"
#include "base/philox.h"

namespace trainyard::backend::reference {

namespace {

void activation(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::ActivationAttrs>();
    const T* src = args.input<T>(0);
    T* dst = args.output<T>(0);
    const std::int64_t elements = args.node.output_shape(0).elements();
    for (std::int64_t i = 0; i < elements; ++i) dst[i] = activate(attrs, src[i]);
  });
}

void activation_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::ActivationAttrs>();
    const T *d_dst = args.input<T>(0), *dst = args.input<T>(1);
    T* d_src = args.output<T>(0);
    const std::int64_t elements = args.node.output_shape(0).elements();
    for (std::int64_t i = 0; i < elements; ++i)
      d_src[i] = d_dst[i] * activation_slope(attrs, dst[i]) * static_cast<T>(attrs.gradient_scale);
  });
}

void add(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::AddAttrs>();
    const int terms = args.node.inputs() - (attrs.mask_by_last ? 1 : 0);
    T* dst = args.output<T>(0);
    const std::int64_t elements = args.node.output_shape(0).elements();
    for (std::int64_t i = 0; i < elements; ++i) {
      const bool masked = attrs.mask_by_last && !(args.input<T>(terms)[i] > 0);
      double sum = 0;
      for (int term = 0; term < terms; ++term) sum += args.input<T>(term)[i];
      dst[i] = masked ? T(0) : activate(attrs.activation, static_cast<T>(sum));
    }
  });
}

void multiply(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const T *a = args.input<T>(0), *b = args.input<T>(1);
    T* dst = args.output<T>(0);
    const std::int64_t elements = args.node.output_shape(0).elements();
    for (std::int64_t i = 0; i < elements; ++i) dst[i] = a[i] * b[i];
  });
}

void scale(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const double factor = args.node.attrs<ops::ScaleAttrs>().factor;
    const T* src = args.input<T>(0);
    T* dst = args.output<T>(0);
    const std::int64_t elements = args.node.output_shape(0).elements();
    for (std::int64_t i = 0; i < elements; ++i) dst[i] = static_cast<T>(factor * src[i]);
  });
}

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

}  // namespace

std::vector<Candidate> elementwise_candidates() {
  return {{&ops::activation_op, "reference:activation", always, make<activation, 0>},
          {&ops::activation_grad_op, "reference:activation_grad", always, make<activation_grad, 0>},
          {&ops::add_op, "reference:add", always, make<add, 0>},
          {&ops::multiply_op, "reference:multiply", always, make<multiply, 0, 1>},
          {&ops::scale_op, "reference:scale", always, make<scale, 0>},
          {&ops::dropout_op, "reference:dropout", always, make<dropout, 0>}};
}

}  // namespace trainyard::backend::reference
