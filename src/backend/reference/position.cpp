#include "ops/sequence/position.h"

#include "backend/reference/backend.h"

namespace trainyard::backend::reference {

namespace {

void add_positions(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const ops::SequenceRows& rows = args.node.attrs<ops::PositionsAttrs>().rows;
    const std::int64_t all = args.node.input_shape(0)[0], width = args.node.input_shape(0)[1];
    const T *src = args.input<T>(0), *table = args.input<T>(1);
    T* dst = args.output<T>(0);
    for (std::int64_t n = 0; n < rows.sequences(all); ++n)
      for (std::int64_t t = 0; t < rows.steps; ++t) {
        const std::int64_t first = rows.row(n, t, all) * width;
        for (std::int64_t c = 0; c < width; ++c) dst[first + c] = src[first + c] + table[t * width + c];
      }
  });
}

void positions_d_table(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::PositionsAttrs>();
    const std::int64_t all = args.node.input_shape(0)[0], width = args.node.input_shape(0)[1];
    const T* d_dst = args.input<T>(0);
    T* d_table = args.output<T>(0);
    for (std::int64_t t = 0; t < attrs.positions; ++t)
      for (std::int64_t c = 0; c < width; ++c) {
        double sum = 0;
        for (std::int64_t n = 0; t < attrs.rows.steps && n < attrs.rows.sequences(all); ++n)
          sum += d_dst[attrs.rows.row(n, t, all) * width + c];
        d_table[t * width + c] = static_cast<T>(sum);
      }
  });
}

void rotary(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::RotaryAttrs>();
    const std::int64_t all = args.node.input_shape(0)[0], width = args.node.input_shape(0)[1];
    const std::int64_t half = attrs.head_size / 2, rotated = attrs.heads * attrs.head_size;
    const T* src = args.input<T>(0);
    T* dst = args.output<T>(0);
    const std::int64_t place = args.node.inputs() == 2 ? args.input<std::int32_t>(1)[0] : 0;
    for (std::int64_t n = 0; n < attrs.rows.sequences(all); ++n)
      for (std::int64_t t = 0; t < attrs.rows.steps; ++t) {
        const std::int64_t first = attrs.rows.row(n, t, all) * width;
        for (std::int64_t h = 0; h < attrs.heads; ++h)
          for (std::int64_t i = 0; i < half; ++i) {
            const double angle =
                (attrs.inverse ? -1 : 1) * static_cast<double>(place + t) *
                std::pow(attrs.base, -2 * static_cast<double>(i) / static_cast<double>(attrs.head_size));
            const std::int64_t low = first + h * attrs.head_size + i;
            const double a = src[low], b = src[low + half];
            dst[low] = static_cast<T>(a * std::cos(angle) - b * std::sin(angle));
            dst[low + half] = static_cast<T>(a * std::sin(angle) + b * std::cos(angle));
          }
        std::copy(src + first + rotated, src + first + width, dst + first + rotated);
      }
  });
}

}  // namespace

std::vector<Candidate> position_candidates() {
  return {{&ops::add_positions_op, "reference:add_positions", always, make<add_positions>},
          {&ops::positions_d_table_op, "reference:positions_d_table", always, make<positions_d_table>},
          {&ops::rotary_op, "reference:rotary", always, make<rotary>}};
}

}  // namespace trainyard::backend::reference
