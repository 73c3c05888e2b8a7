#include "ops/add.h"

#include "backend/onednn/dnnl_kernel.h"
#include "backend/onednn/elementwise.h"
#include "backend/onednn/list.h"

namespace trainyard::backend::onednn {
namespace {

// Sums two, three or more rows; `finish(sum, i)` is a ReLU, a mask, or nothing.
template <typename Finish>
void sum_terms(const Arguments& arguments, int terms, const Finish& finish) {
  const float *a = arguments.input<float>(0), *b = terms > 1 ? arguments.input<float>(1) : nullptr;
  float* y = arguments.output<float>(0);
  const std::int64_t count = padded_elements(arguments);
  if (terms == 1) return for_each_element(count, [=](std::int64_t i) { y[i] = finish(a[i], i); });
  if (terms == 2) return for_each_element(count, [=](std::int64_t i) { y[i] = finish(a[i] + b[i], i); });
  const float* c = arguments.input<float>(2);
  if (terms == 3)
    return for_each_element(count, [=](std::int64_t i) { y[i] = finish(a[i] + b[i] + c[i], i); });
  for_each_element(count, [&arguments, &finish, y, terms](std::int64_t i) {
    float sum = 0;
    for (int t = 0; t < terms; ++t) sum += arguments.input<float>(t)[i];
    y[i] = finish(sum, i);
  });
}

void run(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::AddAttrs>();
  const int inputs = arguments.node.inputs();
  if (attrs.mask_by_last) {
    const float* mask = arguments.input<float>(inputs - 1);
    return sum_terms(arguments, inputs - 1,
                     [mask](float sum, std::int64_t i) { return mask[i] > 0 ? sum : 0; });
  }
  if (attrs.activation.kind == ops::Activation::relu)
    return sum_terms(arguments, inputs, [](float sum, std::int64_t) { return sum > 0 ? sum : 0; });
  sum_terms(arguments, inputs, [](float sum, std::int64_t) { return sum; });
}

Decision accept(const KernelRequest& request) {
  const ops::Activation kind = request.node.attrs<ops::AddAttrs>().activation.kind;
  if (kind != ops::Activation::none && kind != ops::Activation::relu) return Decision::no("fuses ReLU only");
  return wants_f32(request.node);
}

// Follows the first operand that is not plain: the others are then the fewer to reorder.
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  int leader = 0;
  for (int i = request.node.inputs() - 1; i >= 0; --i)
    if (!request.input_or_plain(i).is_plain()) leader = i;
  return std::make_unique<FunctionKernel>(request.node, follow_io(request, leader, {{0, 0}}), run);
}

}  // namespace

std::vector<Candidate> add_candidates() { return {{&ops::add_op, "own:add", accept, make}}; }

}  // namespace trainyard::backend::onednn
