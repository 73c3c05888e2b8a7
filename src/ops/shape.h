#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

struct CastAttrs {
  DType to = DType::f32;
};

// Any number of tensors -> each in another type, rounded to nearest. All weights of a network go in one node.
extern const graph::OpDef cast_op;

std::vector<graph::ValueId> cast(graph::Graph& graph, const std::string& name,
                                 std::vector<graph::ValueId> sources, DType to);

struct ConcatAttrs {
  int axis = 1;
};

extern const graph::OpDef concat_op;  // shapes that agree but for one axis -> joined along it

graph::ValueId concat(graph::Graph& graph, const std::string& name, std::vector<graph::ValueId> parts,
                      int axis = 1);

struct FillAttrs {
  graph::TensorType type;
  double value = 0;
};

extern const graph::OpDef fill_op;  // no input -> a tensor of one value

graph::ValueId fill(graph::Graph& graph, const std::string& name, const graph::TensorType& type,
                    double value);

struct PadAttrs {
  Shape before, after;  // zeros added on each axis
};

extern const graph::OpDef pad_op;

graph::ValueId pad(graph::Graph& graph, const std::string& name, graph::ValueId src, const Shape& before,
                   const Shape& after);

struct ReshapeAttrs {
  Shape shape;
};

extern const graph::OpDef reshape_op;  // the same elements, in logical order, under another shape

graph::ValueId reshape(graph::Graph& graph, const std::string& name, graph::ValueId src, const Shape& shape);
graph::ValueId flatten(graph::Graph& graph, const std::string& name,
                       graph::ValueId src);  // (N, all the rest)

struct SliceAttrs {
  Shape begin;  // first coordinate taken, on each axis
  Shape size;
};

extern const graph::OpDef slice_op;  // a box out of src

graph::ValueId slice(graph::Graph& graph, const std::string& name, graph::ValueId src, const Shape& begin,
                     const Shape& size);

// Lists every op above for the registry.
std::vector<const graph::OpDef*> shape_ops();

}  // namespace trainyard::ops
