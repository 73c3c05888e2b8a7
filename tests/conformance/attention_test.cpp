#include <cstring>

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "ops/sequence/attention.h"
#include "problems.h"
#include "run_graph.h"

// Tests attention by what it must not do: look ahead, look at padding, or keep a matrix of scores.
namespace trainyard::conformance {
namespace {

using graph::ValueId;

constexpr std::int64_t kLength = 70, kSequences = 2, kChanged = 41, kWidth = 4 * 8;

// The output of attention where steps from kChanged on are others.
struct Result {
  std::vector<float> dst;

  std::span<const float> of(std::int64_t step, std::int64_t sequence) const {
    return std::span(dst).subspan(static_cast<std::size_t>((step * kSequences + sequence) * kWidth), kWidth);
  }
};

Result attended(bool causal, float shift_of_later_steps) {
  graph::Graph graph;
  const std::int64_t width = (4 + 2 * 2) * 8;
  const ValueId qkv =
      graph.add_input("qkv", {{kLength * kSequences, width}, DType::f32}, graph::Initializer::normal(1));
  const ValueId y = ops::attention(graph, "y", qkv, graph::kNone,
                                   {.heads = 4, .kv_heads = 2, .rows = {kLength}, .causal = causal});
  graph.mark_output(y);
  Values start = first_values(graph, 3);
  for (float& number :
       start[static_cast<std::size_t>(qkv)].as<float>().subspan(kChanged * kSequences * width))
    number += shift_of_later_steps;
  const Values values = run_graph(graph, fast_backend(), start).values;
  const std::span<float> dst = values[static_cast<std::size_t>(y)].as<float>();
  return {{dst.begin(), dst.end()}};
}

bool same(std::span<const float> a, std::span<const float> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

TEST(Attention, StepsOfTheFutureChangeNothing) {
  const Result one = attended(true, 0), other = attended(true, 0.5f);
  for (std::int64_t n = 0; n < kSequences; ++n) {
    for (std::int64_t t = 0; t < kChanged; ++t) EXPECT_TRUE(same(one.of(t, n), other.of(t, n))) << t;
    for (std::int64_t t = kChanged; t < kLength; ++t) EXPECT_FALSE(same(one.of(t, n), other.of(t, n))) << t;
  }
}

TEST(Attention, WithoutTheMaskTheyDo) {
  const Result one = attended(false, 0), other = attended(false, 0.5f);
  for (std::int64_t t = 0; t < kLength; ++t) EXPECT_FALSE(same(one.of(t, 0), other.of(t, 0))) << t;
}

// Workspaces of this many steps, in bytes; scores in f32 would take 4 * steps^2 for each head.
std::size_t workspace_of(std::int64_t steps) {
  graph::Graph graph;
  const ValueId qkv = graph.add_input("qkv", {{steps, 3 * 64}, DType::f32}, graph::Initializer::normal(1));
  graph.mark_output(ops::attention(graph, "y", qkv, graph::kNone, {.heads = 1, .rows = {steps, true}}));
  append_backward(graph);
  std::size_t bytes = 0;
  for (const graph::Node& node : graph.nodes())
    for (const backend::Candidate& candidate : fast_backend().candidates()) {
      if (candidate.op != node.op) continue;
      const graph::NodeView view(graph, node);
      const backend::KernelRequest request{view, nullptr,
                                           std::vector<std::optional<Layout>>(node.inputs.size(), Layout{}),
                                           std::vector<std::optional<Layout>>(node.outputs.size(), Layout{})};
      if (candidate.accept(request).accepted()) bytes += candidate.make(request)->io().workspace_bytes;
      break;
    }
  return bytes;
}

TEST(Attention, MemoryGrowsWithTheLengthAlone) {
  const std::size_t one = workspace_of(2048), eight = workspace_of(8 * 2048);
  EXPECT_LE(eight, 8 * one);
  EXPECT_LT(eight, std::size_t{4} * 8 * 2048 * 8 * 2048 / 4);
}

TEST(Attention, ThreadsChangeNoBit) {
  graph::Graph graph;
  const ops::AttentionAttrs attrs{.heads = 4, .kv_heads = 2, .rows = {130}};
  const ValueId qkv = graph.add_input("qkv", {{3 * 130, 8 * 24}, DType::f32}, graph::Initializer::normal(1));
  graph.mark_output(ops::attention(graph, "y", qkv, graph::kNone, attrs));
  append_backward(graph);
  const Values start = first_values(graph, 1);
  const int before = thread_count();
  set_thread_count(1);
  const Values one = run_graph(graph, fast_backend(), start).values;
  set_thread_count(3);
  const Values three = run_graph(graph, fast_backend(), start).values;
  set_thread_count(before);
  for (std::size_t v = 0; v < one.size(); ++v)
    EXPECT_EQ(std::memcmp(one[v].data(), three[v].data(), one[v].bytes()), 0) << graph.values()[v].name;
}

}  // namespace
}  // namespace trainyard::conformance
