// Networks that find objects are trained on images with boxes, and evaluated by the anchors that are to find
// one.

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "data/source/dataset.h"
#include "train/loop/training.h"
#include "train/session/evaluate.h"

namespace trainyard::train {
namespace {

constexpr std::int64_t kSide = 96, kBatch = 2;
constexpr int kClasses = 3;

data::Dataset boxes_of(std::int64_t side) {
  return data::make_synthetic({.image_shape = {3, side, side},
                               .classes = kClasses,
                               .train_images = kBatch,
                               .test_images = 4,
                               .boxes = networks::kMostBoxes});
}

SessionOptions session_for(std::int64_t side) {
  SessionOptions options;
  options.model = {.network = "retinanet", .batch = kBatch, .classes = kClasses, .input = {3, side, side}};
  options.update.rule = ops::Rule::adam;
  options.update.schedule.rate = 1e-4;
  options.threads = 1;
  return options;
}

TEST(Boxes, ATrainingLearnsToFindThem) {
  const data::Dataset dataset = boxes_of(kSide);
  const MatchedInput input = match_input(networks::find_network("retinanet"), dataset, "");
  EXPECT_EQ(input.network, (Shape{3, kSide, kSide}));
  EXPECT_EQ(input.classes, kClasses);
  Replicas replicas(session_for(kSide), {});
  const TrainResult result =
      run_training(replicas, dataset, {.steps = 10, .preprocess = input.preprocess}, nullptr);
  // The same images in each step, with boxes that some anchors find.
  EXPECT_GT(result.first_loss, 0.5);
  EXPECT_LT(result.final_loss, 0.7 * result.first_loss);
  ASSERT_TRUE(result.test_loss.has_value());
  EXPECT_GT(*result.test_loss, 0);
  ASSERT_TRUE(result.test_accuracy.has_value());
  EXPECT_GE(*result.test_accuracy, 0);
  EXPECT_LE(*result.test_accuracy, 1);
}

TEST(Boxes, TheEvaluationHearsOfAnchorsThatAreToFindABox) {
  const data::Dataset dataset = boxes_of(kSide);
  const Session untrained(session_for(kSide));
  Evaluator evaluator(untrained, data::batches_of(dataset), {"unit", {3, kSide, kSide}});
  const ops::Anchors anchors{5, {{12, 12, 8}, {6, 6, 16}, {3, 3, 32}, {2, 2, 64}, {1, 1, 128}}};
  std::vector<std::int32_t> expected;
  data::SampleSource::Scratch scratch;
  for (std::int64_t i = 0; i < dataset.size(data::Split::test); ++i) {
    const data::Sample sample = dataset.test.samples->read(i, scratch);
    for (std::int64_t anchor = 0; anchor < anchors.count(); ++anchor) {
      const std::int32_t label =
          ops::match_anchor(anchors.box(anchor), reinterpret_cast<const std::int32_t*>(sample.bytes.data()),
                            networks::kMostBoxes)
              .label;
      if (label >= 0) expected.push_back(label);
    }
  }
  std::vector<std::int32_t> heard;
  evaluator.evaluate([&](std::span<const float> logits, std::int32_t label) {
    EXPECT_EQ(logits.size(), std::size_t{kClasses});
    heard.push_back(label);
  });
  EXPECT_GT(heard.size(), 0u);
  EXPECT_EQ(heard, expected);
}

TEST(Boxes, DataAndNetworkMustAgree) {
  const networks::NetworkInfo retinanet = networks::find_network("retinanet"),
                              lenet = networks::find_network("lenet");
  const data::Dataset boxes = boxes_of(kSide);
  expect_error(ErrorKind::usage,
               "network 'lenet' reads images, and data set 'synthetic' has images with boxes",
               [&] { match_input(lenet, boxes, ""); });
  expect_error(ErrorKind::usage,
               "network 'retinanet' finds boxes in images, and data set 'mnist' has decoded",
               [&] { want_readable(retinanet, "mnist"); });
  expect_error(ErrorKind::usage,
               "preprocess cifarnet: images with boxes are taken as they are; unit expected",
               [&] { match_input(retinanet, boxes, "cifarnet"); });
  expect_error(ErrorKind::usage, "images of 2x3x40x40, and 32 has to divide their rows and columns",
               [] { networks::build_model(session_for(40).model); });
  SessionOptions smoothed = session_for(kSide);
  smoothed.model.label_smoothing = 0.1;
  expect_error(ErrorKind::usage, "finds boxes, whose loss has none",
               [&] { networks::build_model(smoothed.model); });
}

}  // namespace
}  // namespace trainyard::train
