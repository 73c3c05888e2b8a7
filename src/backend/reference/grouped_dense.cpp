#include "ops/sequence/grouped_dense.h"

#include "backend/reference/backend.h"

namespace trainyard::backend::reference {

namespace {

// Calls visit(group, row) for each row.
template <typename Visit>
void for_each_row(const Arguments& args, const Visit& visit) {
  const auto* offsets = args.input<std::int32_t>(2);
  const std::int64_t groups = args.node.input_shape(2)[0] - 1;
  for (std::int64_t e = 0; e < groups; ++e)
    for (std::int64_t s = offsets[e]; s < offsets[e + 1]; ++s) visit(e, s);
}

void grouped_dense(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t outputs = args.node.input_shape(1)[1], inputs = args.node.input_shape(1)[2];
    const T *src = args.input<T>(0), *weight = args.input<T>(1);
    const T* bias = args.node.inputs() == 4 ? args.input<T>(3) : nullptr;
    for_each_row(args, [&](std::int64_t e, std::int64_t s) {
      for (std::int64_t o = 0; o < outputs; ++o) {
        const T *row = src + s * inputs, *column = weight + (e * outputs + o) * inputs;
        double sum = bias != nullptr ? bias[e * outputs + o] : T(0);
        for (std::int64_t i = 0; i < inputs; ++i) sum += static_cast<double>(row[i]) * column[i];
        args.output<T>(0)[s * outputs + o] = static_cast<T>(sum);
      }
    });
  });
}

void grouped_dense_d_src(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t outputs = args.node.input_shape(1)[1], inputs = args.node.input_shape(1)[2];
    const T *d_dst = args.input<T>(0), *weight = args.input<T>(1);
    for_each_row(args, [&](std::int64_t e, std::int64_t s) {
      for (std::int64_t i = 0; i < inputs; ++i) {
        double sum = 0;
        for (std::int64_t o = 0; o < outputs; ++o)
          sum += static_cast<double>(d_dst[s * outputs + o]) * weight[(e * outputs + o) * inputs + i];
        args.output<T>(0)[s * inputs + i] = static_cast<T>(sum);
      }
    });
  });
}

void grouped_dense_d_weight(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const Shape& weight = args.node.output_shape(0);
    const std::int64_t outputs = weight[1], inputs = weight[2];
    const bool with_bias = args.node.attrs<ops::GroupedDenseGradAttrs>().bias;
    const T *d_dst = args.input<T>(0), *src = args.input<T>(1);
    std::vector<double> d_weight(static_cast<std::size_t>(weight.elements())),
        d_bias(static_cast<std::size_t>(weight[0] * outputs));
    for_each_row(args, [&](std::int64_t e, std::int64_t s) {
      for (std::int64_t o = 0; o < outputs; ++o) {
        const double d = d_dst[s * outputs + o];
        d_bias[static_cast<std::size_t>(e * outputs + o)] += d;
        for (std::int64_t i = 0; i < inputs; ++i)
          d_weight[static_cast<std::size_t>((e * outputs + o) * inputs + i)] +=
              d * static_cast<double>(src[s * inputs + i]);
      }
    });
    const auto rounded = [](double x) { return static_cast<T>(x); };
    std::transform(d_weight.begin(), d_weight.end(), args.output<T>(0), rounded);
    if (with_bias) std::transform(d_bias.begin(), d_bias.end(), args.output<T>(1), rounded);
  });
}

}  // namespace

std::vector<Candidate> grouped_dense_candidates() {
  return {{&ops::grouped_dense_op, "reference:grouped_dense", always, make<grouped_dense>},
          {&ops::grouped_dense_d_src_op, "reference:grouped_dense_d_src", always, make<grouped_dense_d_src>},
          {&ops::grouped_dense_d_weight_op, "reference:grouped_dense_d_weight", always,
           make<grouped_dense_d_weight>}};
}

}  // namespace trainyard::backend::reference
