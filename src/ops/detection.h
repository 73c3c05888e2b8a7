#pragma once

#include "graph/op_def.h"
#include "ops/anchors.h"

namespace trainyard::ops {

// Ops of networks that find objects: what each anchor says of itself, what it is to say, and its losses.

// One level or more, each (N, shapes * K, h, w) with the same N and K -> (N * anchors, K): one row an anchor,
// in the order of Anchors.
extern const graph::OpDef anchor_rows_op;
struct AnchorRowsGradAttrs {
  Shape level;              // of the level
  std::int64_t first = 0;   // of its anchors, in an image
  std::int64_t shapes = 9;  // a cell
};
extern const graph::OpDef anchor_rows_d_src_op;  // (d_dst) -> d_src of one level

graph::ValueId anchor_rows(graph::Graph& graph, const std::string& name,
                           const std::vector<graph::ValueId>& levels);

struct MatchAnchorsAttrs {
  Anchors anchors;
  DType dtype = DType::f32;  // of targets and share
};
// boxes (i32 N, M, kBoxNumbers) -> labels (i32 N * anchors), targets (N * anchors, 4), both as AnchorTarget
// has them, and share (scalar): one over the number of anchors that are to find a box, or 1
extern const graph::OpDef match_anchors_op;

struct MatchedAnchors {
  graph::ValueId labels, targets, share;
};
MatchedAnchors match_anchors(graph::Graph& graph, const std::string& name, graph::ValueId boxes,
                             const MatchAnchorsAttrs& attrs);

// logits (R, K), labels (i32 R), share -> loss: share times the sum over all rows that are not passed over,
// and all classes k, of -a (1 - p)^gamma log p, where p is the probability (a sigmoid) of what is right: of
// the class in the row that has its label, with a = alpha; else of its absence, with a = 1 - alpha. f32 when
// the logits are bf16. A label above the classes makes it NaN.
struct FocalLossAttrs {
  double alpha = 0.25, gamma = 2;
};
extern const graph::OpDef focal_loss_op;
extern const graph::OpDef focal_loss_grad_op;  // (d_loss, logits, labels, share) -> d_logits

graph::ValueId focal_loss(graph::Graph& graph, const std::string& name, graph::ValueId logits,
                          graph::ValueId labels, graph::ValueId share, const FocalLossAttrs& attrs = {});

// offsets (R, 4), targets (R, 4), labels (i32 R), share -> loss: share times the sum over rows with a label
// of Huber's loss of each difference d, over beta: d^2 / (2 beta) where |d| < beta, else |d| - beta / 2. f32
// when the offsets are bf16.
struct BoxLossAttrs {
  double beta = 1.0 / 9;
};
extern const graph::OpDef box_loss_op;
extern const graph::OpDef box_loss_grad_op;  // (d_loss, offsets, targets, labels, share) -> d_offsets

graph::ValueId box_loss(graph::Graph& graph, const std::string& name, graph::ValueId offsets,
                        graph::ValueId targets, graph::ValueId labels, graph::ValueId share,
                        const BoxLossAttrs& attrs = {});

// Lists every op above for the registry.
std::vector<const graph::OpDef*> detection_ops();

}  // namespace trainyard::ops
