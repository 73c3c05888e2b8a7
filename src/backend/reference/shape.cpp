#include "backend/reference/shape.h"

#include "backend/reference/backend.h"
#include "ops/shape.h"

namespace trainyard::backend::reference {

namespace {

void slice(const Arguments& args) {
  const auto& attrs = args.node.attrs<ops::SliceAttrs>();
  const std::size_t element = size_of(args.node.dtype());
  const auto* src = args.input<std::byte>(0);
  auto* dst = args.output<std::byte>(0);
  for_each_row_of_box(args.node.input_shape(0), attrs.begin, attrs.size,
                      [&](std::size_t box, std::size_t whole, std::size_t length) {
                        std::memcpy(dst + box * element, src + whole * element, length * element);
                      });
}

void concat(const Arguments& args) {
  const int axis = args.node.attrs<ops::ConcatAttrs>().axis;
  const Shape& dst_shape = args.node.output_shape(0);
  const std::size_t element = size_of(args.node.dtype());
  const std::int64_t outer = dst_shape.elements() / dst_shape.elements_from(axis);
  std::byte* dst = args.output<std::byte>(0);
  for (std::int64_t o = 0; o < outer; ++o) {
    for (int part = 0; part < args.node.inputs(); ++part) {
      const auto run = static_cast<std::size_t>(args.node.input_shape(part).elements_from(axis)) * element;
      std::memcpy(dst, args.input<std::byte>(part) + static_cast<std::size_t>(o) * run, run);
      dst += run;
    }
  }
}

void pad(const Arguments& args) {
  const std::size_t element = size_of(args.node.dtype());
  const auto* src = args.input<std::byte>(0);
  auto* dst = args.output<std::byte>(0);
  std::memset(dst, 0, static_cast<std::size_t>(args.node.output(0).type.bytes()));
  for_each_row_of_box(args.node.output_shape(0), args.node.attrs<ops::PadAttrs>().before,
                      args.node.input_shape(0), [&](std::size_t box, std::size_t whole, std::size_t length) {
                        std::memcpy(dst + whole * element, src + box * element, length * element);
                      });
}

void reshape(const Arguments& args) {
  const auto* src = args.input<std::byte>(0);
  auto* dst = args.output<std::byte>(0);
  if (dst != src) std::memcpy(dst, src, static_cast<std::size_t>(args.node.output(0).type.bytes()));
}

void cast(const Arguments& args) {
  for (int i = 0; i < args.node.inputs(); ++i) {
    const graph::TensorType &from = args.node.input(i).type, &to = args.node.output(i).type;
    const std::int64_t elements = from.shape.elements();
    if (from.dtype == to.dtype) {
      std::memcpy(args.output<std::byte>(i), args.input<std::byte>(i),
                  static_cast<std::size_t>(from.bytes()));
    } else if (to.dtype == DType::bf16) {
      for (std::int64_t e = 0; e < elements; ++e)
        args.output<BFloat16>(i)[e] = BFloat16(args.input<float>(i)[e]);
    } else {
      for (std::int64_t e = 0; e < elements; ++e)
        args.output<float>(i)[e] = static_cast<float>(args.input<BFloat16>(i)[e]);
    }
  }
}

void fill(const Arguments& args) {
  const auto& attrs = args.node.attrs<ops::FillAttrs>();
  if (attrs.type.dtype == DType::i32) {
    std::fill_n(args.output<std::int32_t>(0), attrs.type.shape.elements(),
                static_cast<std::int32_t>(attrs.value));
    return;
  }
  with_float_type(attrs.type.dtype, [&]<typename T>() {
    std::fill_n(args.output<T>(0), attrs.type.shape.elements(), static_cast<T>(attrs.value));
  });
}

}  // namespace

std::vector<Candidate> shape_candidates() {
  return {{&ops::slice_op, "reference:slice", always, make<slice>},
          {&ops::concat_op, "reference:concat", always, make<concat>},
          {&ops::pad_op, "reference:pad", always, make<pad>},
          {&ops::reshape_op, "reference:reshape", always, make<reshape, 0>},
          {&ops::cast_op, "reference:cast", always, make<cast>},
          {&ops::fill_op, "reference:fill", always, make<fill>}};
}

}  // namespace trainyard::backend::reference
