#include "ops/dense.h"
#include "backend/reference/backend.h"
#include "backend/reference/elementwise.h"
#include "backend/reference/update.h"

namespace trainyard::backend::reference {

namespace {

void dense(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::DenseAttrs>();
    const std::int64_t batch = args.node.input_shape(0)[0], outputs = args.node.input_shape(1)[0];
    const std::int64_t inputs = args.node.input_shape(1).elements_from(1);
    const T *src = args.input<T>(0), *weight = args.input<T>(1);
    const T* bias = args.node.inputs() == 3 ? args.input<T>(2) : nullptr;
    T* dst = args.output<T>(0);
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t o = 0; o < outputs; ++o) {
        const T *row = src + n * inputs, *column = weight + o * inputs;
        double sum = bias != nullptr ? bias[o] : T(0);
        for (std::int64_t i = 0; i < inputs; ++i) sum += static_cast<double>(row[i]) * column[i];
        dst[n * outputs + o] = activate(attrs.activation, static_cast<T>(sum));
      }
  });
}

void dense_d_src(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t batch = args.node.input_shape(0)[0], outputs = args.node.input_shape(0)[1];
    const std::int64_t inputs = args.node.input_shape(1).elements_from(1);
    const T *d_dst = args.input<T>(0), *weight = args.input<T>(1);
    T* d_src = args.output<T>(0);
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t i = 0; i < inputs; ++i) {
        double sum = 0;
        for (std::int64_t o = 0; o < outputs; ++o)
          sum += static_cast<double>(d_dst[n * outputs + o]) * weight[o * inputs + i];
        d_src[n * inputs + i] = static_cast<T>(sum);
      }
  });
}

void dense_d_weight(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t batch = args.node.input_shape(0)[0], outputs = args.node.input_shape(0)[1];
    const std::int64_t inputs = args.node.input_shape(1).elements_from(1);
    const T *d_dst = args.input<T>(0), *src = args.input<T>(1);
    T* d_weight = args.output<T>(0);
    for (std::int64_t o = 0; o < outputs; ++o)
      for (std::int64_t i = 0; i < inputs; ++i) {
        double sum = 0;
        for (std::int64_t n = 0; n < batch; ++n)
          sum += static_cast<double>(d_dst[n * outputs + o]) * src[n * inputs + i];
        d_weight[o * inputs + i] = static_cast<T>(sum);
      }
    if (!args.node.attrs<ops::DenseGradAttrs>().bias) return;
    T* d_bias = args.output<T>(1);
    for (std::int64_t o = 0; o < outputs; ++o) {
      double sum = 0;
      for (std::int64_t n = 0; n < batch; ++n) sum += d_dst[n * outputs + o];
      d_bias[o] = static_cast<T>(sum);
    }
  });
}

void dense_chain(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::DenseChainAttrs>();
    const std::int64_t rows = args.node.input_shape(0)[0], width = args.node.input_shape(0)[1];
    const int layers = ops::chain_layers(args.node);
    std::vector<T> before(args.input<T>(0), args.input<T>(0) + rows * width), after(before.size());
    for (int layer = 0; layer < layers; ++layer) {
      const T *weight = args.input<T>(1 + 2 * layer), *bias = args.input<T>(2 + 2 * layer);
      for (std::int64_t n = 0; n < rows; ++n)
        for (std::int64_t o = 0; o < width; ++o) {
          double sum = bias[o];
          for (std::int64_t i = 0; i < width; ++i)
            sum +=
                static_cast<double>(before[static_cast<std::size_t>(n * width + i)]) * weight[o * width + i];
          after[static_cast<std::size_t>(n * width + o)] = activate(attrs.activation, static_cast<T>(sum));
        }
      if (attrs.all_outputs || layer + 1 == layers)
        std::copy(after.begin(), after.end(), args.output<T>(attrs.all_outputs ? layer : 0));
      before.swap(after);
    }
  });
}

void dense_chain_d_src(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::DenseChainGradAttrs>();
    const std::int64_t rows = args.node.input_shape(0)[0], width = args.node.input_shape(0)[1];
    const T* d_sum = args.input<T>(0);
    for (int layer = attrs.layers - 1; layer >= (attrs.d_src ? 0 : 1); --layer) {
      const T* weight = args.input<T>(1 + layer);
      const T* dst = layer > 0 ? args.input<T>(attrs.layers + layer) : nullptr;  // of the layer before
      T* made = args.output<T>(layer > 0 ? layer - 1 : attrs.layers - 1);
      for (std::int64_t n = 0; n < rows; ++n)
        for (std::int64_t i = 0; i < width; ++i) {
          double sum = 0;
          for (std::int64_t o = 0; o < width; ++o)
            sum += static_cast<double>(d_sum[n * width + o]) * weight[o * width + i];
          const T slope = dst == nullptr ? T(1) : activation_slope(attrs.activation, dst[n * width + i]);
          made[n * width + i] = static_cast<T>(sum) * slope;
        }
      d_sum = made;
    }
  });
}

void dense_chain_d_weight(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const int layers = args.node.attrs<ops::DenseChainGradAttrs>().layers;
    const std::int64_t rows = args.node.input_shape(0)[0], width = args.node.input_shape(0)[1];
    for (int layer = 0; layer < layers; ++layer) {
      const T *d_sum = args.input<T>(layer), *src = args.input<T>(layers + layer);
      T *d_weight = args.output<T>(2 * layer), *d_bias = args.output<T>(2 * layer + 1);
      for (std::int64_t o = 0; o < width; ++o) {
        double of_bias = 0;
        for (std::int64_t n = 0; n < rows; ++n) of_bias += d_sum[n * width + o];
        d_bias[o] = static_cast<T>(of_bias);
        for (std::int64_t i = 0; i < width; ++i) {
          double sum = 0;
          for (std::int64_t n = 0; n < rows; ++n)
            sum += static_cast<double>(d_sum[n * width + o]) * src[n * width + i];
          d_weight[o * width + i] = static_cast<T>(sum);
        }
      }
    }
  });
}

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
    const auto decays = [&](int input) { return ops::decays(attrs, args.node.input_shape(input)); };
    update_parameter<T>(attrs, step, updated(0), decays(2), outputs * inputs, [&](std::int64_t e) {
      double sum = 0;
      for (std::int64_t n = 0; n < batch; ++n)
        sum += static_cast<double>(d_dst[n * outputs + e / inputs]) * src[n * inputs + e % inputs];
      return sum;
    });
    update_parameter<T>(attrs, step, updated(1), decays(3), outputs, [&](std::int64_t o) {
      double sum = 0;
      for (std::int64_t n = 0; n < batch; ++n) sum += d_dst[n * outputs + o];
      return sum;
    });
    if (attrs.rounded_copies > 0)
      round_copy(args.input<T>(2), outputs * inputs, args.state<BFloat16>(args.node.inputs() - 1));
  });
}

}  // namespace

std::vector<Candidate> dense_candidates() {
  return {
      {&ops::dense_op, "reference:dense", always, make<dense>},
      {&ops::dense_d_src_op, "reference:dense_d_src", always, make<dense_d_src>},
      {&ops::dense_d_weight_op, "reference:dense_d_weight", always, make<dense_d_weight>},
      {&ops::dense_chain_op, "reference:dense_chain", always, make<dense_chain>},
      {&ops::dense_chain_d_src_op, "reference:dense_chain_d_src", always, make<dense_chain_d_src>},
      {&ops::dense_chain_d_weight_op, "reference:dense_chain_d_weight", always, make<dense_chain_d_weight>},
      {&ops::dense_update_op, "reference:dense_update", always, make<dense_update>}};
}

}  // namespace trainyard::backend::reference
