#include "ops/sequence/cached_attention.h"

#include "backend/reference/backend.h"

namespace trainyard::backend::reference {

namespace {

void cached_attention(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::CachedAttentionAttrs>();
    const std::int64_t width = args.node.input_shape(0)[1], room = args.node.input_shape(1)[1],
                       of_cache = args.node.input_shape(1)[2], head = of_cache / attrs.kv_heads,
                       batch = args.node.input_shape(1)[0], group = attrs.heads / attrs.kv_heads;
    const std::int64_t position = args.input<std::int32_t>(3)[0];
    const double scale = 1 / std::sqrt(static_cast<double>(head));
    T *keys = args.state<T>(1), *values = args.state<T>(2);
    std::vector<double> scores(static_cast<std::size_t>(room));
    for (std::int64_t s = 0; s < attrs.steps; ++s)
      for (std::int64_t n = 0; n < batch; ++n) {
        const T* row = args.input<T>(0) + (s * batch + n) * width;
        T* dst = args.output<T>(0) + (s * batch + n) * attrs.heads * head;
        const std::int64_t step = position + s;
        if (step < 0 || step >= room) {
          std::fill_n(dst, attrs.heads * head, std::numeric_limits<T>::quiet_NaN());
          continue;
        }
        std::copy_n(row + attrs.heads * head, of_cache, keys + (n * room + step) * of_cache);
        std::copy_n(row + attrs.heads * head + of_cache, of_cache, values + (n * room + step) * of_cache);
        for (std::int64_t h = 0; h < attrs.heads; ++h) {
          const std::int64_t first = n * room * of_cache + h / group * head;
          for (std::int64_t t = 0; t <= step; ++t) {
            double sum = 0;
            for (std::int64_t i = 0; i < head; ++i)
              sum += static_cast<double>(row[h * head + i]) * keys[first + t * of_cache + i];
            scores[static_cast<std::size_t>(t)] = scale * sum;
          }
          const double highest = *std::max_element(scores.begin(), scores.begin() + step + 1);
          double total = 0;
          for (std::int64_t t = 0; t <= step; ++t)
            total += scores[static_cast<std::size_t>(t)] =
                std::exp(scores[static_cast<std::size_t>(t)] - highest);
          for (std::int64_t i = 0; i < head; ++i) {
            double mean = 0;
            for (std::int64_t t = 0; t <= step; ++t)
              mean += scores[static_cast<std::size_t>(t)] / total * values[first + t * of_cache + i];
            dst[h * head + i] = static_cast<T>(mean);
          }
        }
      }
  });
}

}  // namespace

std::vector<Candidate> cached_attention_candidates() {
  return {{&ops::cached_attention_op, "reference:cached_attention", always, make<cached_attention>}};
}

}  // namespace trainyard::backend::reference
