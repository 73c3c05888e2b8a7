#pragma once

#include <dnnl.hpp>

#include "backend/kernel.h"
#include "ops/elementwise.h"
#include "ops/window.h"

namespace trainyard::backend::onednn {

// Parts of a kernel's workspace, in the order in which they were added; each begins on a cache line.
class Workspace {
 public:
  std::size_t add_floats(std::int64_t count) { return add(static_cast<std::size_t>(count) * sizeof(float)); }
  std::size_t add(std::size_t bytes) {
    const std::size_t offset = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return offset;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

// The declarations from here on wrap oneDNN 2.6: descriptors, layouts, execution without allocation.

// Returns the CPU engine and its in-order stream: handles without state of their own.
const dnnl::engine& cpu_engine();

dnnl::memory::dims to_dims(const Shape& shape);
dnnl::memory::desc to_desc(const Shape& shape, const Layout& layout);
dnnl::memory::desc any_desc(const Shape& shape);
// REQUIRES: a blocked descriptor, which is all that direct algorithms choose.
Layout to_layout(const dnnl::memory::desc& desc);

// Scratchpads are booked by the planner instead of being allocated in every call.
dnnl::primitive_attr planned_attr();
// Does the same with an activation applied to the result.
dnnl::primitive_attr planned_attr(const ops::ActivationAttrs& activation);

dnnl::memory::dims window_strides(const ops::Window2d& window);
dnnl::memory::dims window_dilations(const ops::Window2d& window);  // oneDNN counts from 0
dnnl::memory::dims padding_before(const ops::Window2d& window);
dnnl::memory::dims padding_after(const ops::Window2d& window);

// Returns true where oneDNN runs convolutions on channels-last images as batches of small matrix products
// (AVX-512). They are up to twice as fast there as its kernels for blocked channels, so all images then keep
// their channels last.
bool has_matrix_convolutions();

// Returns a reason to decline common to all f32 kernels.
Decision wants_f32(const graph::NodeView& node);

// Runs a primitive to its end; allocates nothing.
void execute(const dnnl::primitive& primitive, const std::vector<dnnl_exec_arg_t>& arguments);

// A DnnlKernel is one oneDNN primitive with its arguments bound once.
class DnnlKernel final : public Kernel {
 public:
  enum class Place : std::uint8_t { input, output, workspace };
  struct Argument {
    int id;  // DNNL_ARG_...
    Place place;
    std::int64_t index;  // of the input or output; of the first byte in the workspace
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

// The declarations from here on serve our own kernels. These work on images whose channels lie side by side:
// channels last ("acdb"), or in blocks of 8 or 16 ("aBcd16b"), the layouts that convolutions choose. Either
// way a few neighbouring channels of one pixel form one vector, so a loop over pixels needs no shuffles for
// any window.

// A vector of L floats, by the compiler's vector extension.
template <int L>
struct Vec {
  typedef float Floats __attribute__((vector_size(L * 4)));
  typedef std::int32_t Ints __attribute__((vector_size(L * 4)));
  typedef std::uint8_t Bytes __attribute__((vector_size(L)));

  // Loads and stores count as accesses to floats, not to bytes that could be anything, so that the compiler
  // need not read sizes and strides again after every store.
  typedef float Unaligned __attribute__((vector_size(L * 4), aligned(4)));
  static Floats load(const float* p) { return *reinterpret_cast<const Unaligned*>(p); }
  static void store(float* p, Floats v) { *reinterpret_cast<Unaligned*>(p) = v; }
  // x - 0 is x for every x, so this is a broadcast and nothing else; x + 0 would have to mind the sign of
  // zero.
  static Floats splat(float x) { return x - Floats{}; }
};

// ImageView holds the addresses of the vectors of an image: element (n, b, pixel) begins at n * image_stride
// + b * block_stride + pixel * pixel_stride, b counting blocks of `lanes` channels.
struct ImageView {
  std::int64_t images, channels, height, width;
  int lanes;  // 16, 8, 4 or 1
  std::int64_t blocks;
  std::int64_t pixel_stride, block_stride, image_stride;

  ImageView(const Layout& layout, const Shape& shape);
  std::int64_t pixels() const { return height * width; }
  std::int64_t padded_channels() const { return blocks * lanes; }
  bool pads() const { return padded_channels() != channels; }
  std::int64_t floats() const { return images * image_stride; }
};

bool is_vector_layout(const Layout& layout);
// Returns the layout in which this machine's convolutions are fastest.
const Layout& preferred_image_layout();
// Keeps a layout that suits our kernels as it is; anything else becomes the preferred one.
Layout image_layout(const KernelRequest& request, int input);

// "wants an image" unless the input is f32 of rank 4.
Decision wants_image(const graph::NodeView& node);

// Calls function.template operator()<L>() with the number of lanes as a constant.
template <typename Function>
void with_lanes(int lanes, const Function& function) {
  switch (lanes) {
    case 16:
      return function.template operator()<16>();
    case 8:
      return function.template operator()<8>();
    case 4:
      return function.template operator()<4>();
    default:
      TRAINYARD_CHECK(lanes == 1);
      return function.template operator()<1>();
  }
}

// Calls body(first, last) for runs of pixels short enough that all channels of a run stay in the first-level
// cache while the blocks of channels are visited one by one.
template <typename Body>
void for_each_strip(const ImageView& image, const Body& body) {
  const std::int64_t strip = std::max<std::int64_t>(8, 4096 / image.padded_channels());
  for (std::int64_t first = 0; first < image.pixels(); first += strip)
    body(first, std::min(first + strip, image.pixels()));
}

}  // namespace trainyard::backend::onednn
