// The sweeps as they are in studies/: how many points, which ranges, how they are shared out.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/test_folder.h"
#include "networks/zoo/zoo.h"
#include "study/spec/plan.h"

namespace trainyard::study {
namespace {

Plan plan_of(const Spec& spec) {
  return make_plan(spec, [](const record::Settings&) { return std::string(); });
}

Spec shipped(const std::string& name) { return read_spec("studies/" + name); }

std::map<std::string, int> networks_of(const Plan& plan) {
  std::map<std::string, int> count;
  for (const Cell& cell : plan.cells) ++count[record::to_text(cell.settings.at("network"))];
  return count;
}

TEST(ParaDnnStudies, FullFactorialOfFc) {
  const Plan plan = plan_of(shipped("paradnn-fc.yaml"));
  EXPECT_EQ(plan.cells.size(), 9720u);
  std::set<std::string> together;
  for (std::int64_t k = 1; k <= 7; ++k) {
    const Plan share = take_shard(plan, {k, 7});
    EXPECT_NEAR(static_cast<double>(share.cells.size()), 9720.0 / 7, 1);
    for (const Cell& cell : share.cells) EXPECT_TRUE(together.insert(cell.hash).second);
  }
  EXPECT_EQ(together.size(), 9720u);
}

// The published TPU results have only the ends of two axes.
TEST(ParaDnnStudies, SubsetOfTheTpu) {
  Spec spec = shipped("paradnn-fc.yaml");
  for (Axis& axis : spec.axes)
    if (axis.name == "inputs" || axis.name == "classes")
      axis.values = {axis.values.front(), axis.values.back()};
  EXPECT_EQ(plan_of(spec).cells.size(), 1944u);
}

TEST(ParaDnnStudies, SlicesHaveTheirPoints) {
  EXPECT_EQ(networks_of(plan_of(shipped("paradnn-cnn.yaml"))), (std::map<std::string, int>{{"cnn", 400}}));
  EXPECT_EQ(networks_of(plan_of(shipped("paradnn-rnn.yaml"))), (std::map<std::string, int>{{"rnn", 300}}));
  EXPECT_EQ(networks_of(plan_of(shipped("paradnn-quick.yaml"))),
            (std::map<std::string, int>{{"cnn", 18}, {"fc", 24}, {"rnn", 18}}));
  EXPECT_EQ(networks_of(plan_of(shipped("paradnn-h200.yaml"))),
            (std::map<std::string, int>{{"cnn", 40}, {"fc", 70}, {"rnn", 40}}));
}

// Every cell of the generated networks is one that can be built.
TEST(ParaDnnStudies, SizesAreAllowed) {
  for (const char* name : {"paradnn-cnn.yaml", "paradnn-rnn.yaml", "paradnn-quick.yaml", "paradnn-h200.yaml"})
    for (const Cell& cell : plan_of(shipped(name)).cells) {
      const networks::NetworkInfo& network =
          networks::find_network(record::to_text(cell.settings.at("network")));
      ASSERT_NE(network.generator, nullptr);
      networks::generator::Given given;
      for (const networks::generator::Parameter& parameter : network.generator->parameters) {
        const auto found = cell.settings.find(parameter.name);
        if (found != cell.settings.end()) given[parameter.name] = record::to_text(found->second);
      }
      EXPECT_NO_THROW(networks::parameters_of(network, given)) << record::to_text(cell.settings);
    }
}

}  // namespace
}  // namespace trainyard::study
