#pragma once

#include "ops/sequence/attention.h"

namespace trainyard::ops {

struct CachedAttentionAttrs {
  std::int64_t heads = 1, kv_heads = 1;  // as of attention
  std::int64_t steps = 1;                // new ones of each sequence; rows stand step by step
};

// Attention of a few new steps on all steps before them, for networks that make text token by token. With N
// sequences, S new steps, room for C steps and rows of qkv as those of attention:
// qkv (S*N, (heads + 2 kv_heads) D), keys (N, C, kv_heads D), values (N, C, kv_heads D), position (i32 1)
// -> dst (S*N, heads D). It writes the new keys and values into the caches, from step `position` on; new step
// s sees the steps up to position + s. Steps beyond C make their dst NaN: a kernel cannot refuse.
extern const graph::OpDef cached_attention_op;

// Returns what such a node costs when its first new step stands at this place, behind as many others. The row
// of the op counts full caches: how many steps they hold is known when it runs.
graph::Cost cached_attention_cost(const graph::NodeView& node, std::int64_t position);

struct CachedAttentionInputs {
  graph::ValueId qkv, keys, values, position;
};
graph::ValueId cached_attention(graph::Graph& graph, const std::string& name,
                                const CachedAttentionInputs& inputs, const CachedAttentionAttrs& attrs);

// Lists every op above for the registry.
std::vector<const graph::OpDef*> cached_attention_ops();

}  // namespace trainyard::ops
