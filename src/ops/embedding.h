#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

// table (V, E), ids (i32, any shape) -> dst (shape of ids, E): row ids[i] of the table. An id outside [0, V)
// makes its row NaN: a kernel cannot refuse, and nothing may be read out of bounds.
extern const graph::OpDef embedding_op;

struct EmbeddingGradAttrs {
  std::int64_t vocabulary = 0;  // rows of the table
};
// (d_dst, ids) -> d_table (V, E): for each row the sum over its occurrences, in their order whatever the
// number of threads. Ids outside [0, V) add nothing.
extern const graph::OpDef embedding_d_table_op;

graph::ValueId embedding(graph::Graph& graph, const std::string& name, graph::ValueId table,
                         graph::ValueId ids);

}  // namespace trainyard::ops
