#include "backend/reference/update.h"

#include "backend/reference/backend.h"

namespace trainyard::backend::reference {

namespace {

// Returns the factor of all gradients. A norm that is no number must not go unseen, so it is one as well.
template <typename T>
double clip_factor(const Arguments& args, int count, double clip_norm) {
  if (clip_norm <= 0) return 1;
  double sum = 0;
  for (int i = count; i < 2 * count; ++i) {
    const T* gradient = args.input<T>(i);
    for (std::int64_t e = 0; e < args.node.input_shape(i).elements(); ++e)
      sum += static_cast<double>(gradient[e]) * static_cast<double>(gradient[e]);
  }
  const double norm = std::sqrt(sum);
  return norm <= clip_norm ? 1 : clip_norm / norm;
}

void update(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::UpdateAttrs>();
    const UpdateStep step(attrs, args.context.step);
    const int used = slots_used(attrs.rule);
    const bool shadows = attrs.ema_decay > 0;
    const int count = (args.node.inputs() - attrs.rounded_copies) / (2 + used + (shadows ? 1 : 0));
    const double factor = clip_factor<T>(args, count, attrs.clip_norm);
    int copy = args.node.inputs() - attrs.rounded_copies;
    for (int i = 0; i < count; ++i) {
      const auto slot = [&](int k) { return args.state<T>((2 + k) * count + i); };
      const T* gradient = args.input<T>(count + i);
      update_parameter<T>(attrs, step,
                          {.parameter = args.state<T>(i),
                           .slot0 = used > 0 ? slot(0) : nullptr,
                           .slot1 = used > 1 ? slot(1) : nullptr,
                           .shadow = shadows ? slot(used) : nullptr},
                          ops::decays(attrs, args.node.input_shape(i)), args.node.input_shape(i).elements(),
                          [&](std::int64_t e) { return factor * static_cast<double>(gradient[e]); });
      if (copy < args.node.inputs() && args.node.input_shape(i).rank() >= 2)
        round_copy(args.input<T>(i), args.node.input_shape(i).elements(), args.state<BFloat16>(copy++));
    }
  });
}

void accumulate(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const int count = args.node.inputs() / 3, batches = args.node.attrs<ops::AccumulateAttrs>().micro_batches;
    const bool first = args.context.step % batches == 0;
    for (int i = 0; i < count; ++i) {
      const T* gradient = args.input<T>(count + i);
      T* sum = args.state<T>(2 * count + i);
      for (std::int64_t e = 0; e < args.node.input_shape(i).elements(); ++e)
        sum[e] = (first ? T(0) : sum[e]) + gradient[e] / static_cast<T>(batches);
    }
  });
}

}  // namespace

std::vector<Candidate> update_candidates() {
  return {{&ops::update_op, "reference:update", always, make<update>},
          {&ops::accumulate_op, "reference:accumulate", always, make<accumulate>}};
}

}  // namespace trainyard::backend::reference
