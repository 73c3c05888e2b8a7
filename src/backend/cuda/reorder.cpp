#include "backend/cuda/reorder.h"

#include "backend/cuda/device/reorder.h"
#include "backend/cuda/walk.h"

namespace trainyard::backend::cuda {
namespace {

class Reorder final : public Kernel {
 public:
  Reorder(Context& context, const graph::TensorType& type, const Layout& from, const Layout& to)
      : Kernel({.inputs = {from}, .outputs = {to}, .workspace_bytes = 0, .in_place = {}}),
        context_(context),
        copy_{.from = make_walk(to, type.shape, from, type.shape),
              .first = 0,
              .elements = type.shape.elements(),
              .element_bytes = static_cast<int>(size_of(type.dtype))} {}
  void bind(const Binding& binding) override {
    src_ = binding.inputs[0];
    dst_ = binding.outputs[0];
  }
  void run(const StepContext&) override { device::strided_copy(context_.stream(), copy_, src_, dst_); }

 private:
  Context& context_;
  device::StridedCopy copy_;
  const std::byte* src_ = nullptr;
  std::byte* dst_ = nullptr;
};

}  // namespace

std::unique_ptr<Kernel> make_reorder(Context& context, const graph::TensorType& type, const Layout& from,
                                     const Layout& to) {
  return std::make_unique<Reorder>(context, type, from, to);
}

}  // namespace trainyard::backend::cuda
