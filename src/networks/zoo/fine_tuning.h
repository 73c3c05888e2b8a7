#pragma once

#include "networks/zoo/zoo.h"

// Trainings that go on from weights of before: frozen parameters and the last layer.
namespace trainyard::networks {

// The pattern of all parameters but those of the last layer.
inline constexpr const char* kAllButHead = "all-but-head";

// Returns the parameters of the last layer: those of the nodes that come first on the way back from the
// logits and have any.
std::vector<graph::ValueId> head_of(const graph::Graph& graph, graph::ValueId logits);

// Returns true when the pattern, in which * stands for any text and ? for any letter, is the whole name or
// its beginning up to a "/" or ".".
bool matches(std::string_view pattern, std::string_view name);

// Returns the parameters that are not trained, in the order of the graph. `results`: the logits, and what
// else the network says, whose last layers are heads, too. Error (usage) for a pattern that no name matches,
// and where nothing is left to train.
std::vector<graph::ValueId> frozen_parameters(const graph::Graph& graph,
                                              const std::vector<graph::ValueId>& results,
                                              const std::vector<std::string>& patterns);

// A batch norm all of whose parameters are frozen normalises by its running statistics, which stay as they
// are.
void freeze_batch_norms(graph::Graph& graph, const std::vector<graph::ValueId>& frozen);

// Gives parameters and statistics their first content, where `start` names it.
void start_from(graph::Graph& graph, const StartWeights& start);

}  // namespace trainyard::networks
