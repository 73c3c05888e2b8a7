#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

// The update of a dense layer, with the gradients that it takes made on the way: nobody else reads them. Made
// by the planner of dense_d_weight and a part of update; its attributes are UpdateAttrs.
// d_dst (N, O), src (N, ...), weight (O, ...), bias (O), slot 0 of both, slot 1 of both, ... [, copy of
// weight] -> nothing; changes parameters, slots and copy.
extern const graph::OpDef dense_update_op;

}  // namespace trainyard::ops
