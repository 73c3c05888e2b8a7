#include "ops/pointwise.h"

#include "backend/reference/backend.h"

namespace trainyard::backend::reference {
namespace {

// Calls element(i, function) for each number, where function(x) is its value and slope in double.
template <typename Element>
void for_each(const Arguments& args, const Element& element) {
  const auto& attrs = args.node.attrs<ops::PointwiseAttrs>();
  ops::with_pointwise_kind(attrs.kind, [&]<ops::PointwiseKind kind>() {
    for (std::int64_t i = 0; i < args.node.output_shape(0).elements(); ++i)
      element(i, [&](double x) { return ops::pointwise_at<kind>(x, attrs.a, attrs.b); });
  });
}

void pointwise(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    for_each(args, [&](std::int64_t i, const auto& function) {
      args.output<T>(0)[i] = static_cast<T>(function(args.input<T>(0)[i]).value);
    });
  });
}

void pointwise_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    for_each(args, [&](std::int64_t i, const auto& function) {
      args.output<T>(0)[i] = static_cast<T>(args.input<T>(0)[i] * function(args.input<T>(1)[i]).slope);
    });
  });
}

}  // namespace

std::vector<Candidate> pointwise_candidates() {
  return {{&ops::pointwise_op, "reference:pointwise", always, make<pointwise, 0>},
          {&ops::pointwise_grad_op, "reference:pointwise_grad", always, make<pointwise_grad, 0>}};
}

}  // namespace trainyard::backend::reference
