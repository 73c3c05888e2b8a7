#include "train/loop/training.h"

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/file.h"
#include "base/test_folder.h"
#include "engine/checkpoint.h"
#include "train/session/evaluate.h"
#include "train/session/test_dataset.h"

namespace trainyard::train {
namespace {

SessionOptions small_session() {
  SessionOptions options;
  options.model = {.network = "lenet", .batch = 8, .classes = 4, .input = {1, 12, 12}};
  options.update.rule = ops::Rule::momentum;
  options.update.schedule.rate = 0.01;
  options.update.ema_decay = 0.9;
  options.seed = 3;
  return options;
}

struct Trial {
  SessionOptions session = small_session();
  TrainOptions train{.steps = 6, .preprocess = {"lenet", {1, 12, 12}}, .checkpoint_every = 2};
  Existing existing = Existing::refuse;
};

TrainResult run(const std::filesystem::path& out, Trial trial = {}) {
  const data::Dataset dataset = small_dataset();
  Replicas replicas(trial.session, {});
  const RunFolder folder(out, trial.existing);
  trial.train.resume = trial.existing == Existing::resume || trial.existing == Existing::resume_or_begin;
  return run_training(replicas, dataset, trial.train, &folder);
}

std::vector<std::byte> tensors(const TrainResult& result) {
  return read_file(*result.checkpoint / "tensors.bin");
}

TEST(Training, LeavesCheckpointEventsAndFigures) {
  const TestFolder folder;
  const TrainResult result = run(folder.path() / "run");
  EXPECT_EQ(result.final_step, 6);
  EXPECT_EQ(result.step_seconds.size(), 6u);
  EXPECT_NEAR(result.first_loss, std::log(4.0), 0.2);
  EXPECT_TRUE(std::isfinite(result.final_loss));
  ASSERT_TRUE(result.test_accuracy.has_value());
  EXPECT_NEAR(*result.test_accuracy * 10, std::round(*result.test_accuracy * 10), 1e-9)
      << "of ten images, whatever the batch";
  EXPECT_EQ(*result.checkpoint, folder.path() / "run" / "step-00000006");
  const auto kept = engine::list_checkpoints(folder.path() / "run");
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].filename(), "step-00000004");
}

TEST(Training, TakesImagesFlat) {
  const data::Dataset dataset = small_dataset();
  SessionOptions options;
  options.model = {
      .network = "fc", .batch = 8, .classes = 4, .input = {144}, .parameters = {{"layers", "1"}}};
  Replicas replicas(options, {});
  const TrainResult result =
      run_training(replicas, dataset, {.steps = 3, .preprocess = {"unit", {}}}, nullptr);
  EXPECT_TRUE(std::isfinite(result.final_loss));
  EXPECT_TRUE(result.test_accuracy.has_value());
}

TEST(Training, ResumedRunEndsBitIdentical) {
  const TestFolder folder;
  const TrainResult whole = run(folder.path() / "whole");
  Trial part;
  part.train.steps = 3;
  run(folder.path() / "cut", part);
  const TrainResult rest = run(folder.path() / "cut", {.existing = Existing::resume});
  EXPECT_EQ(rest.first_step, 3);
  EXPECT_EQ(rest.first_loss, whole.first_loss) << "step 0's, though another process may have done it";
  EXPECT_EQ(tensors(rest), tensors(whole));
  EXPECT_EQ(rest.test_accuracy, whole.test_accuracy);
}

TEST(Training, ResumingAFinishedRunDoesNoStep) {
  const TestFolder folder;
  const TrainResult whole = run(folder.path() / "run");
  const TrainResult again = run(folder.path() / "run", {.existing = Existing::resume});
  EXPECT_TRUE(again.step_seconds.empty());
  EXPECT_EQ(again.test_accuracy, whole.test_accuracy);
  Trial shorter{.existing = Existing::resume};
  shorter.train.steps = 4;
  expect_error(ErrorKind::usage, "is beyond the 4 steps asked for",
               [&] { run(folder.path() / "run", shorter); });
}

TEST(Training, FoldersAreNotMixed) {
  const TestFolder folder;
  const auto out = folder.path() / "run";
  expect_error(ErrorKind::config, "no checkpoint in", [&] { run(out, {.existing = Existing::resume}); });
  EXPECT_FALSE(std::filesystem::exists(out));
  run(out);
  expect_error(ErrorKind::usage, "already has checkpoints (step-00000006)", [&] { run(out); });
  Trial other{.existing = Existing::resume};
  other.session.model.batch = 4;
  other.session.update.momentum = 0.5;
  expect_error(ErrorKind::config, "is of another run: batch 8 there, 4 asked; momentum 0.9 there, 0.5 asked",
               [&] { run(out, other); });
  Trial anew{.existing = Existing::overwrite};
  anew.train.steps = 1;
  run(out, anew);
  EXPECT_EQ(engine::list_checkpoints(out).size(), 1u);
}

TEST(Training, AJobThatIsQueuedAgainBeginsOrGoesOn) {
  const TestFolder folder;
  const auto out = folder.path() / "run";
  Trial trial{.existing = Existing::resume_or_begin};
  trial.train.steps = 4;
  const TrainResult first = run(out, trial);
  EXPECT_FALSE(first.resumed_from.has_value());
  EXPECT_EQ(first.final_step, 4);
  trial.train.steps = 6;
  const TrainResult second = run(out, trial);
  ASSERT_TRUE(second.resumed_from.has_value());
  EXPECT_EQ(second.resumed_from->filename(), "step-00000004");
  EXPECT_EQ(second.first_loss, first.first_loss);
}

TEST(Training, OneRunAtATimeInAFolder) {
  const TestFolder folder;
  const RunFolder held(folder.path(), Existing::refuse);
  expect_error(ErrorKind::usage, "is in use by another run", [&] { run(folder.path()); });
}

TEST(Training, LossThatIsNoNumberEndsTheRunUnsaved) {
  const TestFolder folder;
  Trial trial;
  trial.session.update.schedule.rate = 1e30;
  trial.session.model.weight_decay = 1;  // the squares of such weights overflow on every backend
  trial.train.checkpoint_every = 100;
  // The plain loops keep a NaN that oneDNN's ReLU drops, so they meet it one operation earlier.
  const std::string word = backend::make_onednn_backend() == nullptr ? "nan" : "inf";
  expect_error(ErrorKind::device, "loss became " + word + " at step 1", [&] { run(folder.path(), trial); });
  EXPECT_TRUE(engine::list_checkpoints(folder.path()).empty());
}

TEST(Evaluator, CountsEveryTestImageOnce) {
  data::Dataset dataset = small_dataset();
  SessionOptions options = small_session();
  Session session(options);
  // All labels alike: the accuracy is the share of images that get this label, so the classes' shares sum up.
  double sum = 0;
  for (std::int32_t label = 0; label < 4; ++label) {
    for (std::int32_t& each : dataset.test.labels.as<std::int32_t>()) each = label;
    sum += Evaluator(session, data::batches_of(dataset), {"lenet", {1, 12, 12}}).accuracy();
  }
  EXPECT_NEAR(sum, 1.0, 1e-12);
}

TEST(MatchInput, TakesTheChannelsOfTheDataAndTheSizeOfTheNetwork) {
  data::Dataset mnist;
  mnist.name = "mnist";
  mnist.image_shape = {1, 28, 28};
  EXPECT_EQ(match_input(networks::find_network("lenet"), mnist, "").network, (Shape{1, 28, 28}));
  EXPECT_EQ(match_input(networks::find_network("cifarnet"), mnist, "").network, (Shape{1, 24, 24}));
  EXPECT_EQ(match_input(networks::find_network("fc"), mnist, "").network, (Shape{784}));
  expect_error(ErrorKind::config, "cannot be made of images of 1x28x28",
               [&] { match_input(networks::find_network("resnet20"), mnist, ""); });
  EXPECT_EQ(match_input(networks::find_network("resnet20"), mnist, "standardise").network,
            (Shape{1, 32, 32}));
}

TEST(MatchInput, SyntheticImagesFitEveryNetwork) {
  for (const networks::NetworkInfo& network : networks::all_networks()) {
    data::Dataset dataset;
    if (network.reads_sequences()) {
      dataset.image_shape = {1, 28, 28};
      expect_error(ErrorKind::usage, "reads sequences", [&] { match_input(network, dataset, ""); });
      continue;
    }
    const data::SyntheticOptions options = synthetic_for(network, 0, 1);
    dataset.image_shape = options.image_shape;
    if (network.finds_boxes()) {
      expect_error(ErrorKind::usage, "finds boxes in images, and data set '' has decoded images",
                   [&] { match_input(network, dataset, ""); });
      dataset.kind = data::SampleKind::boxes;
    }
    EXPECT_EQ(match_input(network, dataset, "").network, network.input) << network.name;
    // Images with boxes are made when they are read.
    EXPECT_TRUE(network.finds_boxes() || options.train_images * options.image_shape.elements() <= 64 << 20)
        << network.name;
  }
}

}  // namespace
}  // namespace trainyard::train
