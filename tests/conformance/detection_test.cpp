#include <cmath>

#include <gtest/gtest.h>

#include "hand_example.h"
#include "ops/detection.h"
#include "ops/registry/registry.h"

// Tests ops of networks that find objects against values computed by hand, and losses against those that
// PyTorch 1.13 gives (binary_cross_entropy_with_logits with RetinaNet's weights, smooth_l1_loss).
namespace trainyard::conformance {
namespace {

using graph::ValueId;
using ops::Anchors;

TEST(Detection, AnchorsAreOfThreeSizesAndShapesAtEachCell) {
  const Anchors anchors{2, {{2, 3, 8}, {1, 2, 16}}};
  EXPECT_EQ(anchors.count(), 72);
  for (std::int64_t shape = 0; shape < 9; ++shape) {
    const ops::Box box = anchors.box(9 * 4 + shape);  // the middle cell of the second row
    EXPECT_NEAR((box.left + box.right) / 2, 12, 1e-9);
    EXPECT_NEAR((box.top + box.bottom) / 2, 12, 1e-9);
    const double width = box.right - box.left, height = box.bottom - box.top,
                 side = 32 * std::pow(2.0, static_cast<double>(shape / 3) / 3);
    EXPECT_NEAR(std::sqrt(width * height), side, 1e-9);
    EXPECT_NEAR(height / width, std::pow(2.0, static_cast<double>(shape % 3) - 1), 1e-9);
  }
  const ops::Box above = anchors.box(54 + 9 + 1);  // the square of the last cell, on the next level
  EXPECT_NEAR(above.left, 24 - 32, 1e-9);
  EXPECT_NEAR(above.bottom, 8 + 32, 1e-9);
}

TEST(Detection, AnchorsFindTheBoxThatTheyOverlapMost) {
  const ops::Box anchor{0, 0, 32, 32};
  const auto matched = [&](std::vector<std::int32_t> boxes) {
    return ops::match_anchor(anchor, boxes.data(), std::ssize(boxes) / ops::kBoxNumbers);
  };
  EXPECT_EQ(matched({3, 0, 0, 16, 32}).label, 3);                               // a half
  EXPECT_EQ(matched({3, 0, 0, 15, 32}).label, ops::AnchorTarget::kPassedOver);  // less than that
  EXPECT_EQ(matched({3, 0, 0, 12, 32}).label, ops::AnchorTarget::kBackground);  // less than 0.4
  EXPECT_EQ(matched({3, 0, 0, 20, 32, 5, 0, 0, 30, 32, -1, 0, 0, 32, 32}).label, 5);
  EXPECT_EQ(matched({-1, 0, 0, 32, 32}).label, ops::AnchorTarget::kBackground);
  EXPECT_EQ(matched({0, 32, 32, 0, 0}).label, ops::AnchorTarget::kBackground);  // inside out
  const ops::AnchorTarget target = matched({7, 4, 0, 36, 24});
  ASSERT_EQ(target.label, 7);
  EXPECT_NEAR(target.offsets[0], 4.0 / 32, 1e-9);
  EXPECT_NEAR(target.offsets[1], -4.0 / 32, 1e-9);
  EXPECT_NEAR(target.offsets[2], 0, 1e-9);
  EXPECT_NEAR(target.offsets[3], std::log(24.0 / 32), 1e-9);
}

TEST(Detection, TheShareIsThatOfAnAnchorThatFindsABox) {
  HandExample e;
  const Anchors one{1, {{1, 1, 8}}};  // 32 x 32 and 8 others around (4, 4)
  const ValueId boxes = e.integers("boxes", {1, 2, 5}, {2, -12, -12, 20, 20, -1, 0, 0, 0, 0});
  const ops::MatchedAnchors matched = ops::match_anchors(e.graph, "anchors", boxes, {one, DType::f64});
  e.run();
  double found = 0;
  for (std::int64_t i = 0; i < 9; ++i)
    found += ops::overlap(one.box(i), {-12, -12, 20, 20}) >= ops::kFound ? 1 : 0;
  ASSERT_GT(found, 1);
  expect_near(e[matched.share], {1 / found});
}

TEST(Detection, FocalLossOfSomeLogits) {
  HandExample e;
  const ValueId logits = e.input("logits", {3, 2}, {0.5, -1, 2, 0.25, 3, -2});
  const ValueId labels = e.integers("labels", {3}, {1, -1, -2}), share = e.input("share", {}, {0.5});
  const ValueId loss = ops::focal_loss(e.graph, "loss", logits, labels, share);
  const ValueId three = e.input("d_loss", {}, {3});
  const ValueId d_logits = ops::backward(e.graph, {loss}, {three}, {logits}).front();
  e.run();
  expect_near(e[loss], {0.9459291648451417});
  expect_near(e[d_logits],
              {0.591920799608906, -0.28808802119974414, 1.2113029467545422, 0.45702383962728066, 0, 0});
}

TEST(Detection, FocalLossOfAnUnknownLabelIsNotANumber) {
  HandExample e;
  const ValueId logits = e.input("logits", {1, 2}, {0.5, -1});
  const ValueId labels = e.integers("labels", {1}, {2}), share = e.input("share", {}, {1});
  const ValueId loss = ops::focal_loss(e.graph, "loss", logits, labels, share);
  e.run();
  EXPECT_TRUE(std::isnan(e[loss][0]));
}

TEST(Detection, BoxLossOfAnchorsThatFindABox) {
  HandExample e;
  const ValueId offsets = e.input("offsets", {2, 4}, {0.1, -0.4, 2, 0.05, 9, 9, 9, 9});
  const ValueId targets = e.input("targets", {2, 4}, {0, 0, 0, 0, 0, 0, 0, 0});
  const ValueId labels = e.integers("labels", {2}, {4, -1}), share = e.input("share", {}, {0.5});
  const ValueId loss = ops::box_loss(e.graph, "loss", offsets, targets, labels, share);
  const ValueId two = e.input("d_loss", {}, {2});
  const ValueId d_offsets = ops::backward(e.graph, {loss}, {two}, {offsets}).front();
  e.run();
  expect_near(e[loss], {1.1725694444444443});
  expect_near(e[d_offsets], {0.9, -1, 1, 0.45, 0, 0, 0, 0});
}

}  // namespace
}  // namespace trainyard::conformance
