#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "backend/reference/backend.h"
#include "compare.h"
#include "ops/elementwise.h"

// The comparison itself under test: backends with one fault each must not pass.
namespace trainyard::conformance {
namespace {

using backend::Candidate;
using backend::Decision;
using backend::Kernel;
using backend::KernelIo;
using backend::KernelRequest;

enum class Fault { wrong_value, unwritten, overrun, changes_input, in_place, wrong_state };

std::unique_ptr<Kernel> reference_kernel(const KernelRequest& request) {
  for (const Candidate& candidate : backend::reference::candidates())
    if (candidate.op == request.node.node().op) return candidate.make(request);
  fail(ErrorKind::internal, "no reference for {}", request.node.node().op->name);
}

// The reference kernel, and then something wrong in its last element.
class FaultyKernel final : public Kernel {
 public:
  FaultyKernel(const KernelRequest& request, Fault fault)
      : FaultyKernel(request, fault, reference_kernel(request)) {}

  void bind(const backend::Binding& binding) override {
    binding_ = binding;
    kernel_->bind(binding);
  }

  void run(const backend::StepContext& context) override {
    if (fault_ == Fault::in_place) std::memset(binding_.outputs[0], 0, sizeof(float));
    kernel_->run(context);
    float* output = binding_.outputs.empty() ? nullptr : reinterpret_cast<float*>(binding_.outputs[0]);
    if (fault_ == Fault::wrong_value) output[last_] += 0.01f;
    if (fault_ == Fault::unwritten) output[last_] = std::nanf("");
    if (fault_ == Fault::overrun) output[last_ + 1] = 1;
    if (fault_ == Fault::changes_input) *reinterpret_cast<float*>(binding_.inputs[0]) += 1;
    if (fault_ == Fault::wrong_state) *reinterpret_cast<float*>(binding_.inputs[0]) += 0.01f;
  }

 private:
  FaultyKernel(const KernelRequest& request, Fault fault, std::unique_ptr<Kernel> kernel)
      : Kernel(kernel->io()), kernel_(std::move(kernel)), fault_(fault) {
    if (fault == Fault::in_place) io_.in_place = {{0, 0}};
    if (request.node.outputs() > 0)
      last_ = static_cast<std::size_t>(request.node.output_shape(0).elements()) - 1;
  }

  std::unique_ptr<Kernel> kernel_;
  Fault fault_;
  std::size_t last_ = 0;
  backend::Binding binding_;
};

// Takes and gives blocked images, and leaves rubbish in their padding.
class PaddedScale final : public Kernel {
 public:
  explicit PaddedScale(const KernelRequest& request)
      : Kernel({.inputs = {Layout::parse("aBcd16b")},
                .outputs = {Layout::parse("aBcd16b")},
                .workspace_bytes = 0,
                .in_place = {}}),
        elements_(io_.outputs[0].elements(request.node.output_shape(0))) {}
  void bind(const backend::Binding& binding) override { binding_ = binding; }
  void run(const backend::StepContext&) override {
    const auto* src = reinterpret_cast<const float*>(binding_.inputs[0]);
    auto* dst = reinterpret_cast<float*>(binding_.outputs[0]);
    for (std::int64_t i = 0; i < elements_; ++i) dst[i] = src[i] * 0.17f + (i % 16 == 15 ? 1.0f : 0.0f);
  }

 private:
  std::int64_t elements_;
  backend::Binding binding_;
};

std::unique_ptr<Kernel> make_padded_scale(const KernelRequest& request) {
  return std::make_unique<PaddedScale>(request);
}

template <Fault fault>
std::unique_ptr<Kernel> make_faulty(const KernelRequest& request) {
  return std::make_unique<FaultyKernel>(request, fault);
}

using Make = std::unique_ptr<Kernel> (*)(const KernelRequest&);
using Accept = Decision (*)(const KernelRequest&);

Decision always(const KernelRequest&) { return Decision::yes(); }

class FaultyBackend final : public backend::Backend {
 public:
  // The faulty candidate stands before or after the right one.
  FaultyBackend(const char* op, Make make, bool first, Accept accept = always) {
    for (const Candidate& candidate : backend::reference::candidates()) {
      const Candidate faulty{candidate.op, "faulty", accept, make};
      const bool here = op == std::string_view(candidate.op->name);
      if (here && first) candidates_.push_back(faulty);
      candidates_.push_back(candidate);
      if (here && !first) candidates_.push_back(faulty);
    }
  }
  std::string name() const override { return "faulty"; }
  const std::vector<Candidate>& candidates() const override { return candidates_; }
  std::unique_ptr<Kernel> make_reorder(const graph::TensorType& type, const Layout& from,
                                       const Layout& to) const override {
    return backend::reference::make_reorder(type, from, to);
  }

 private:
  std::vector<Candidate> candidates_;
};

const Problem& problem_named(const char* name) {
  for (const Problem& problem : all_problems())
    if (problem.name == name) return problem;
  fail(ErrorKind::internal, "no problem {}", name);
}

void expect_caught(const Problem& problem, const char* op, Make make, const char* words) {
  for (const bool first : {true, false}) {
    const Verdict verdict = compare_with_reference(problem, FaultyBackend(op, make, first));
    ASSERT_FALSE(verdict.faults.empty()) << problem.name << (first ? ", winner" : ", second candidate");
    bool named = false;
    for (const std::string& fault : verdict.faults) named = named || fault.find(words) != std::string::npos;
    EXPECT_TRUE(named) << "'" << words << "' is not in: " << verdict.faults.front();
  }
}

TEST(FaultyBackend, WrongValueIsCaught) {
  expect_caught(problem_named("conv2d_3x3_16"), "conv2d", make_faulty<Fault::wrong_value>, "'y:0' is off by");
}

TEST(FaultyBackend, WrongGradientIsCaught) {
  expect_caught(problem_named("conv2d_3x3_16"), "conv2d_d_weight", make_faulty<Fault::wrong_value>,
                "'y/d_weight:0' is off by");
}

TEST(FaultyBackend, UnwrittenElementIsCaught) {
  expect_caught(problem_named("dense_small"), "dense", make_faulty<Fault::unwritten>, "'y:0' is off by inf");
}

TEST(FaultyBackend, WriteBehindTheOutputIsCaught) {
  expect_caught(problem_named("dense_small"), "dense", make_faulty<Fault::overrun>, "writes behind output 0");
}

TEST(FaultyBackend, ChangedInputIsCaught) {
  expect_caught(problem_named("dense_small"), "dense", make_faulty<Fault::changes_input>, "changes input 0");
}

TEST(FaultyBackend, FalseInPlaceIsCaught) {
  expect_caught(problem_named("softmax_ten"), "softmax", make_faulty<Fault::in_place>,
                "in place: 'y:0' is off by");
}

TEST(FaultyBackend, RubbishInPaddingIsCaught) {
  const Problem problem{
      "odd",
      nullptr,
      {"odd",
       [](graph::Graph& graph, DType dtype) {
         const auto x = graph.add_input("x", {{2, 5, 3, 3}, dtype}, graph::Initializer::normal(1));
         graph.mark_output(ops::scale(graph, "y", x, 0.17));
       }},
      true};
  expect_caught(problem, "scale", make_padded_scale, "leaves padding that is not zero in output 0");
}

TEST(FaultyBackend, WrongStateIsCaught) {
  expect_caught(problem_named("update_momentum"), "update", make_faulty<Fault::wrong_state>, "'p' is off by");
}

TEST(FaultyBackend, ReasonsOfDeclinesAreKept) {
  const Accept decline = [](const KernelRequest&) { return Decision::no("not today"); };
  const Verdict verdict = compare_with_reference(
      problem_named("scale_image"), FaultyBackend("scale", make_faulty<Fault::wrong_value>, true, decline));
  EXPECT_TRUE(verdict.faults.empty());
  ASSERT_FALSE(verdict.declines.empty());
  EXPECT_EQ(verdict.declines.front(), "y: faulty declines: not today");
}

}  // namespace
}  // namespace trainyard::conformance
