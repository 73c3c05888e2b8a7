#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "base/philox.h"
#include "fill.h"
#include "ops/registry/registry.h"
#include "problems.h"
#include "run_graph.h"

// Every gradient rule against central differences of sum(d_y * y), in f64 on the reference backend.
namespace trainyard::conformance {
namespace {

using graph::Graph;
using graph::ValueId;

constexpr std::uint64_t kSeed = 7;
constexpr double kStep = 1e-6, kTolerance = 1e-5;
constexpr int kDirections = 3, kElements = 40;

struct Check {
  double analytic, numeric, allowed;
  bool kink;
};

class Differences {
 public:
  explicit Differences(const Problem& problem) : backend_(backend::make_reference_backend()) {
    Graph full;
    problem.problem.build(full, DType::f64);
    gradients_ = append_backward(full);
    problem.problem.build(forward_, DType::f64);
    RunResult run = run_graph(full, *backend_, first_values(full, kSeed));
    for (std::size_t i = 0; i < full.outputs().size(); ++i)
      d_outputs_.push_back(copy_of(at(run.values, full.find("d_y" + std::to_string(i)))));
    for (const ValueId gradient : gradients_)
      analytic_.push_back(gradient == graph::kNone ? HostTensor() : copy_of(at(run.values, gradient)));
    start_ = first_values(forward_, kSeed);
    here_ = measure();
  }

  std::vector<ValueId> wanted() const { return differentiable_values(forward_); }
  const std::string& name(ValueId value) const { return forward_.value(value).name; }
  bool reached(std::size_t index) const { return gradients_[index] != graph::kNone; }
  std::span<double> gradient(std::size_t index) const { return analytic_[index].as<double>(); }

  // Compares the derivative along `direction` of one value.
  Check along(std::size_t index, ValueId value, const std::vector<double>& direction) {
    const auto analytic = gradient(index);
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < direction.size(); ++i) {
      sum += analytic[i] * direction[i];
      squares += analytic[i] * direction[i] * analytic[i] * direction[i];
    }
    const Sum above = moved(value, direction, kStep), below = moved(value, direction, -kStep);
    const double numeric = (above.value - below.value) / (2 * kStep);
    const double scale = std::max(std::abs(numeric), std::sqrt(squares));
    // This bounds the rounding of the sums inside the ops; their last bits do not shrink with the step.
    const double rounding = 16 * std::numeric_limits<double>::epsilon() * here_.magnitude / kStep;
    // The slopes on both sides of a kink differ; those of a smooth function differ by a step times its
    // curvature.
    const double left = (here_.value - below.value) / kStep, right = (above.value - here_.value) / kStep;
    return {sum, numeric, kTolerance * scale + rounding,
            std::abs(right - left) > 1e-3 * scale + 4 * rounding};
  }

 private:
  struct Sum {
    double value = 0, magnitude = 0;
  };

  static const HostTensor& at(const Values& values, ValueId id) {
    return values[static_cast<std::size_t>(id)];
  }

  Sum measure() const {
    const RunResult run = run_graph(forward_, *backend_, start_);
    Sum sum;
    for (std::size_t o = 0; o < d_outputs_.size(); ++o) {
      const auto y = at(run.values, forward_.outputs()[o]).as<double>(), r = d_outputs_[o].as<double>();
      for (std::size_t i = 0; i < y.size(); ++i) {
        sum.value += r[i] * y[i];
        sum.magnitude += std::abs(r[i] * y[i]);
      }
    }
    return sum;
  }

  Sum moved(ValueId value, const std::vector<double>& direction, double step) {
    const auto x = at(start_, value).as<double>();
    const std::vector<double> before(x.begin(), x.end());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += step * direction[i];
    const Sum sum = measure();
    std::copy(before.begin(), before.end(), x.begin());
    return sum;
  }

  std::unique_ptr<backend::Backend> backend_;
  Graph forward_;
  Values start_, d_outputs_, analytic_;
  std::vector<ValueId> gradients_;
  Sum here_;
};

class Gradient : public testing::TestWithParam<Problem> {
 protected:
  void expect_right(const Check& check, const std::string& what) {
    ++checks_;
    if (std::abs(check.analytic - check.numeric) <= check.allowed) return;
    if (check.kink) {
      ++kinks_;
      return;
    }
    ADD_FAILURE() << what << ": gradient " << check.analytic << ", difference quotient " << check.numeric
                  << ", allowed error " << check.allowed;
  }

  int checks_ = 0, kinks_ = 0;
};

std::vector<Problem> with_gradient() {
  std::vector<Problem> found;
  for (const Problem& problem : all_problems())
    if (has_gradient(problem)) found.push_back(problem);
  return found;
}

TEST_P(Gradient, EqualsDifferenceQuotients) {
  Differences problem(GetParam());
  const std::vector<ValueId> wanted = problem.wanted();
  for (std::size_t w = 0; w < wanted.size(); ++w) {
    const std::string& name = problem.name(wanted[w]);
    ASSERT_TRUE(problem.reached(w)) << name << " has no gradient";
    const std::size_t elements = problem.gradient(w).size();
    const Philox random(kSeed, stream_of(name.c_str()));
    for (std::uint64_t d = 0; d < kDirections; ++d) {
      std::vector<double> direction(elements);
      for (std::size_t i = 0; i < elements; ++i)
        direction[i] = 2 * to_unit_float(random.word((d + 1) * elements + i)) - 1;
      expect_right(problem.along(w, wanted[w], direction), name + " along a direction");
    }
    std::set<std::size_t> chosen;
    for (std::uint64_t e = 0; e < kElements; ++e) chosen.insert(random.word(e) % elements);
    for (const std::size_t element : chosen) {
      std::vector<double> direction(elements, 0);
      direction[element] = 1;
      expect_right(problem.along(w, wanted[w], direction), name + " element " + std::to_string(element));
    }
  }
  EXPECT_LE(kinks_, checks_ / 20) << "too many kinks among " << checks_ << " checks";
}

INSTANTIATE_TEST_SUITE_P(Ops, Gradient, testing::ValuesIn(with_gradient()),
                         [](const auto& test) { return test.param.name; });

// This test names every op that is not checked above, so that none is left out silently.
TEST(GradientList, OpsWithoutOne) {
  std::set<std::string> none;
  for (const graph::OpDef* op : ops::all_ops())
    if (op->gradient == nullptr) none.insert(op->name);
  const std::set<std::string> expected{"accumulate",
                                       "activation_grad",
                                       "anchor_rows_d_src",
                                       "attention_grad",
                                       "average_pool_d_src",
                                       "balance_penalty_grad",
                                       "batch_norm_apply",  // the planner makes it, behind the backward pass
                                       "batch_norm_grad",
                                       "box_loss_grad",
                                       "cached_attention",  // of inference
                                       "cast",      // the planner's, in graphs that have their gradients
                                       "classify",  // has its gradients already
                                       "combine_grad",
                                       "conv2d_d_weight",
                                       "conv2d_max_pool",
                                       "conv2d_max_pool_d_weight",
                                       "dense_chain_d_src",
                                       "dense_chain_d_weight",
                                       "dense_d_src",
                                       "dense_d_weight",
                                       "dense_update",
                                       "dispatch_d_src",
                                       "embedding_d_table",
                                       "fill",
                                       "focal_loss_grad",
                                       "gated_graph_conv_grad",
                                       "grouped_dense_d_src",
                                       "grouped_dense_d_weight",
                                       "l2_penalty_grad",
                                       "layer_norm_grad",
                                       "local_response_norm_grad",
                                       "match_anchors",  // no number that is trained goes in
                                       "max_pool_d_src",
                                       "pointwise_grad",
                                       "positions_d_table",
                                       "recurrent_grad",
                                       "resize_d_src",
                                       "route_grad",
                                       "sequence_cross_entropy_grad",
                                       "set2set_grad",
                                       "smooth_unit_grad",
                                       "softmax_cross_entropy_grad",
                                       "softmax_grad",
                                       "update",
                                       "upsample_d_src"};
  EXPECT_EQ(none, expected);
}

TEST(GradientList, CasesWithoutOne) {
  std::set<std::string> none;
  for (const Problem& problem : all_problems())
    if (problem.op->gradient != nullptr && !has_gradient(problem)) none.insert(problem.name);
  // By the running statistics nothing is trained; in inference chains keep their last layer alone, and
  // recurrent layers and those of graphs no gates.
  EXPECT_EQ(none, (std::set<std::string>{"batch_norm_inference", "batch_norm_inference_relu",
                                         "dense_chain_last_alone", "recurrent_rnn_inference",
                                         "recurrent_lstm_inference", "recurrent_gru_inference",
                                         "recurrent_gru_two_biases_inference", "gated_graph_conv_inference",
                                         "gated_graph_conv_inference_two_layers", "set2set_inference"}));
}

TEST(GradientList, EveryOpWithOneHasCases) {
  for (const graph::OpDef* op : ops::all_ops())
    EXPECT_TRUE(op->gradient == nullptr || (op->cases != nullptr && !op->cases().empty())) << op->name;
}

}  // namespace
}  // namespace trainyard::conformance
