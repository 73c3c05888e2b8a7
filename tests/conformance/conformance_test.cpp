#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "compare.h"
#include "joined_problems.h"
#include "masked_problems.h"
#include "ops/registry/registry.h"

// Every executing backend of this build against the reference. The reference is among them: its own kernels
// must also work in place and between images in other layouts.
namespace trainyard::conformance {
namespace {

struct Subject {
  std::string name;
  std::unique_ptr<backend::Backend> (*make)();
  bool tf32 = false;

  friend void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name; }
};

std::unique_ptr<backend::Backend> make_cuda() {
  return backend::make_cuda_backend(0, backend::Precision::f32, backend::Effort::full);
}

std::unique_ptr<backend::Backend> make_cuda_tf32() {
  return backend::make_cuda_backend(0, backend::Precision::tf32, backend::Effort::full);
}

std::vector<Subject> subjects() {
  std::vector<Subject> all{{"reference", backend::make_reference_backend}};
  if (backend::make_onednn_backend() != nullptr) all.push_back({"onednn", backend::make_onednn_backend});
  all.push_back({"cuda", make_cuda});
  all.push_back({"cuda_tf32", make_cuda_tf32, true});
  return all;
}

// One for all tests: a GPU's libraries take long to start, and must not be left by a destructor after main().
// Null: `reason` says why there is none.
const backend::Backend* backend_of(const Subject& subject, std::string& reason) {
  static auto& made = *new std::map<std::string, std::pair<std::unique_ptr<backend::Backend>, std::string>>;
  if (!made.contains(subject.name)) {
    auto& [backend, why] = made[subject.name];
    try {
      backend = subject.make();
      if (backend == nullptr) why = "built without it";
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      why = error.what();
    }
  }
  reason = made[subject.name].second;
  return made[subject.name].first.get();
}

std::vector<Problem> problems() {
  std::vector<Problem> all = all_problems();
  for (Problem& problem : masked_problems()) all.push_back(std::move(problem));
  for (Problem& problem : joined_problems()) all.push_back(std::move(problem));
  return all;
}

bool has_candidate(const backend::Backend& backend, const graph::OpDef* op) {
  const auto& all = backend.candidates();
  return std::any_of(all.begin(), all.end(), [&](const backend::Candidate& one) { return one.op == op; });
}

class Conformance : public testing::TestWithParam<std::tuple<Subject, Problem>> {};

TEST_P(Conformance, EqualsReference) {
  const auto& [subject, problem] = GetParam();
  std::string reason;
  const backend::Backend* backend = backend_of(subject, reason);
  if (backend == nullptr) GTEST_SKIP() << reason;
  if (!backend->device()->is_host() && problem.op != nullptr && runs_on_hosts_only(*problem.op)) {
    EXPECT_FALSE(has_candidate(*backend, problem.op)) << "a GPU runs " << problem.op->name << " now";
    GTEST_SKIP() << problem.op->name << " runs on the host only";
  }
  const Verdict verdict = compare_with_reference(problem, *backend, subject.tf32);
  for (const std::string& decline : verdict.declines) std::cout << "  " << decline << "\n";
  for (const std::string& fault : verdict.faults) ADD_FAILURE() << fault;
}

INSTANTIATE_TEST_SUITE_P(Ops, Conformance,
                         testing::Combine(testing::ValuesIn(subjects()), testing::ValuesIn(problems())),
                         [](const auto& test) {
                           return std::get<0>(test.param).name + "_" + std::get<1>(test.param).name;
                         });

TEST(ConformanceList, EveryOpOccursInAProblem) {
  std::set<std::string> missing;
  for (const graph::OpDef* op : ops::all_ops()) missing.insert(op->name);
  for (const Problem& problem : problems()) {
    graph::Graph graph;
    problem.problem.build(graph, DType::f32);
    if (has_gradient(problem)) append_backward(graph);
    for (const graph::Node& node : graph.nodes()) missing.erase(node.op->name);
  }
  EXPECT_EQ(missing, std::set<std::string>{});
}

}  // namespace
}  // namespace trainyard::conformance
