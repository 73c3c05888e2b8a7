#include "train/loop/loop.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "process/stop_request.h"
#include "train/session/test_dataset.h"

namespace trainyard::train {
namespace {

using Reached = Stepper::Reached;
using State = Reached::State;

SessionOptions small_network() {
  SessionOptions options;
  options.model = {.network = "lenet", .batch = 8, .classes = 4, .input = {1, 12, 12}};
  options.threads = 1;
  return options;
}

// Reaches what it is told to, as servers do that go on while a state is on its way.
class ScriptedStepper final : public Stepper {
 public:
  explicit ScriptedStepper(std::vector<Reached> script)
      : session_(small_network()), script_(std::move(script)) {}

  Session& keeper() override { return session_; }
  std::int64_t left(const engine::CheckpointHeader& at) const override {
    return script_.back().step - at.step;
  }
  void resume(engine::CheckpointHeader& at) override { calls += fmt::format("resume {} ", at.step); }
  void prepare(std::int64_t first_step, Hear hear) override {
    next_step_ = first_step;
    hear_ = std::move(hear);
    calls += "prepare ";
  }
  Reached advance(std::int64_t due) override {
    calls += fmt::format("due {} ", due);
    const Reached reached = script_[at_++];
    for (; next_step_ < reached.step; ++next_step_)
      hear_({.first = next_step_, .losses = {1.0}, .seconds = {0.5}, .images = 8},
            static_cast<double>(next_step_));
    return reached;
  }
  std::vector<std::pair<std::string, std::string>> place() const override {
    return {{"place", std::to_string(next_step_)}};
  }
  void stop(TrainResult&) override { calls += "stop "; }
  void finish(TrainResult&) override {
    calls += "finish";
    if (failure) throw Error(*failure);
  }

  std::string calls;
  std::optional<Error> failure;

 private:
  Session session_;
  const std::vector<Reached> script_;
  std::size_t at_ = 0;
  std::int64_t next_step_ = 0;
  Hear hear_;
};

struct LoopTest : testing::Test {
  TrainResult run(ScriptedStepper& stepper, bool resume = false) {
    const RunFolder out(folder.path() / "run", resume ? Existing::resume : Existing::overwrite);
    TrainOptions options{
        .steps = 20, .preprocess = {"lenet", {1, 12, 12}}, .eval_every = 6, .checkpoint_every = 4};
    options.keep = 10;
    options.resume = resume;
    const data::Dataset dataset = small_dataset();
    const auto identity = run_identity(stepper.keeper().options(), dataset, options.preprocess, 1);
    return run_loop(stepper, identity, data::batches_of(dataset), options, &out);
  }
  std::vector<std::string> checkpoints() const {
    std::vector<std::string> names;
    for (const auto& path : engine::list_checkpoints(folder.path() / "run"))
      names.push_back(path.filename().string());
    return names;
  }

  const TestFolder folder;
};

// A state that is further than what was due is saved and evaluated once for every multiple that it passed.
TEST_F(LoopTest, SavesAndEvaluatesWhateverPassedWhatWasDue) {
  ScriptedStepper stepper({{3, 1.0}, {7, 2.0}, {9, 3.0}, {21, 4.0, State::done}});
  const TrainResult result = run(stepper);
  EXPECT_EQ(stepper.calls, "prepare due 4 due 4 due 8 due 12 stop finish");
  EXPECT_EQ(checkpoints(), (std::vector<std::string>{"step-00000007", "step-00000009", "step-00000021"}));
  ASSERT_EQ(result.accuracy_curve.size(), 2u);
  EXPECT_EQ(result.accuracy_curve[0].step, 7);
  EXPECT_GE(result.accuracy_curve[0].seconds, 2.0);
  EXPECT_EQ(result.accuracy_curve[1].step, 21);
  EXPECT_EQ(result.final_step, 21);
  EXPECT_EQ(result.images_consumed, 21 * 8);
  EXPECT_EQ(result.step_seconds.size(), 21u);
}

TEST_F(LoopTest, AStoppedRunIsSavedAndNotEvaluated) {
  ScriptedStepper stepper({{2, 1.0}, {3, 2.0, State::stopped}});
  const TrainResult result = run(stepper);
  EXPECT_EQ(checkpoints(), (std::vector<std::string>{"step-00000003"}));
  EXPECT_FALSE(result.test_accuracy);
}

TEST_F(LoopTest, AnErrorThatIsKeptForTheEndLeavesACheckpoint) {
  ScriptedStepper stepper({{2, 1.0, State::done}});
  stepper.failure.emplace(ErrorKind::peer, "server 1 is gone");
  expect_error(ErrorKind::peer, "server 1 is gone", [&] { run(stepper); });
  EXPECT_EQ(checkpoints(), (std::vector<std::string>{"step-00000002"}));
}

TEST_F(LoopTest, AResumedRunGoesOnFromThePlaceOfItsCheckpoint) {
  ScriptedStepper first({{4, 1.0}, {6, 2.0, State::stopped}});
  run(first);
  ScriptedStepper second({{20, 1.0, State::done}});
  const TrainResult result = run(second, true);
  EXPECT_EQ(second.calls, "resume 6 prepare due 8 stop finish");
  EXPECT_EQ(result.first_step, 6);
  EXPECT_EQ(result.step_seconds.size(), 14u);
  ScriptedStepper third({{10, 1.0, State::done}});
  expect_error(ErrorKind::usage, "is beyond the 20 steps asked for", [&] { run(third, true); });
}

}  // namespace
}  // namespace trainyard::train
