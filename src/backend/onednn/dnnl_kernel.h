#pragma once

#include <optional>
#include <vector>

#include <dnnl.hpp>

#include "backend/kernel.h"
#include "ops/activation.h"
#include "ops/window.h"

// All that our kernels share of oneDNN 2.6: descriptors, layouts, execution without allocation.
namespace trainyard::backend::onednn {

// The CPU engine and its in-order stream: handles without state of their own.
const dnnl::engine& cpu_engine();

dnnl::memory::dims to_dims(const Shape& shape);
dnnl::memory::desc to_desc(const Shape& shape, const Layout& layout);
dnnl::memory::desc any_desc(const Shape& shape);
// REQUIRES: a blocked descriptor, which is all that direct algorithms choose.
Layout to_layout(const dnnl::memory::desc& desc);

// Scratchpads are booked by the planner instead of being allocated in every call.
dnnl::primitive_attr planned_attr();
// The same with an activation applied to the result.
dnnl::primitive_attr planned_attr(const ops::ActivationAttrs& activation);

dnnl::memory::dims window_strides(const ops::Window2d& window);
dnnl::memory::dims window_dilations(const ops::Window2d& window);  // oneDNN counts from 0
dnnl::memory::dims padding_before(const ops::Window2d& window);
dnnl::memory::dims padding_after(const ops::Window2d& window);

// True where oneDNN runs convolutions on channels-last images as batches of small matrix products (AVX-512).
// They are up to twice as fast there as its kernels for blocked channels, so all images then keep their
// channels last.
bool has_matrix_convolutions();

// A reason to decline common to all f32 kernels.
Decision wants_f32(const graph::NodeView& node);

// Runs a primitive to its end; allocates nothing.
void execute(const dnnl::primitive& primitive, const std::vector<dnnl_exec_arg_t>& arguments);

// One oneDNN primitive with its arguments bound once.
class DnnlKernel final : public Kernel {
 public:
  enum class Place : std::uint8_t { input, output, workspace };
  struct Argument {
    int id;  // DNNL_ARG_...
    Place place;
    int index;  // of the input or output
    dnnl::memory::desc desc;
    std::optional<Layout> layout = {};  // in our axes, where they differ from the descriptor's
  };

  DnnlKernel(KernelIo io, dnnl::primitive primitive, std::vector<Argument> arguments);
  void bind(const Binding& binding) override;
  void run(const StepContext& context) override;

 private:
  dnnl::primitive primitive_;
  std::vector<Argument> arguments_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> bound_;
};

// Takes the layouts from the arguments (plain for values not mentioned) and books the scratchpad.
std::unique_ptr<Kernel> make_dnnl_kernel(const graph::NodeView& node, const dnnl::primitive& primitive,
                                         const dnnl::memory::desc& scratchpad,
                                         std::vector<DnnlKernel::Argument> arguments,
                                         std::vector<std::pair<int, int>> in_place = {});

}  // namespace trainyard::backend::onednn
