#pragma once

#include "plan/compile.h"
#include "plan/slab.h"

// Forward values that are computed again in the backward pass need no memory until then (Chen et al., 2016,
// call this checkpointing). One file rewrites the graph, one foretells what a choice of nodes comes to, and
// one chooses.
namespace trainyard::plan {

// Nodes are named by their first output, whose id no pass changes.
using Dropped = std::set<graph::ValueId>;

// Can a second run of the node have no other effect than its outputs? Where it changes state, a node without
// that effect must give the same outputs, or the large one among them.
bool can_run_again(const graph::NodeView& node);

struct Recomputed {
  graph::Graph graph;
  Dropped again;  // the nodes that compute for the second time
};

// recompute.cpp: the backward pass computes anew what the dropped forward nodes made, each directly before
// the first node that reads it, and once. Nodes are copied with their attributes, so random ones draw the
// same. REQUIRES: can_run_again() of each.
Recomputed recompute(const graph::Graph& graph, const Dropped& dropped);

// recompute_sketch.cpp: foretells how much memory a plan takes, and how much longer it runs, when some of its
// forward steps run again. Layouts and kernels are taken to stay as they are, so the whole is right but for
// reorders of values that are made again.
class StepSketch {
 public:
  explicit StepSketch(const CompiledStep& whole);

  // A flag for each step of the plan.
  using Flags = std::vector<char>;

  // The outcome of a choice.
  struct Outlook {
    double cost = 0;              // of the steps that run again, as cost() of each
    std::size_t most_living = 0;  // bytes of the slab
    // The most in each step of the plan and in those that run again for it, so that choices compare step by
    // step.
    std::vector<std::size_t> living;
    Flags runs_again;
  };
  Outlook look(const Flags& dropped) const;

  std::size_t size() const { return steps_.size(); }
  bool can_drop(std::size_t step) const { return steps_[step].can_drop; }
  bool is_forward(std::size_t step) const { return steps_[step].forward; }
  // Bytes that a roof of kFlopsPerByte would let pass in the time of the step.
  double cost(std::size_t step) const { return steps_[step].cost; }
  // Bytes of the step's results in the slab.
  std::size_t bytes(std::size_t step) const;
  // For each step, the bytes made until then that later forward steps read, and the steps that made them.
  std::vector<std::size_t> crossing_bytes() const;
  std::vector<std::size_t> crossing_steps(std::size_t behind) const;
  // The steps none of whose results the backward pass reads.
  Flags unread() const;
  Dropped nodes(const Flags& steps) const;  // reorders have none

 private:
  struct Part {
    std::vector<int> inputs, outputs;
    int workspace = -1;
    std::vector<std::pair<int, int>> in_place;
    graph::ValueId node = graph::kNone;
    bool forward = false, can_drop = false, keeps_small = false;
    int follows = -1;  // of a reorder: the step whose result it copies
    double cost = 0;
  };

  int producer_of(int buffer) const { return producer_[static_cast<std::size_t>(buffer)]; }
  bool is_made_again(int buffer, const Flags& runs_again) const;
  // Emits the steps that run, in their order; `again` tells those that do for the second time.
  template <typename Emit>
  Flags walk(const Flags& dropped, const Emit& emit) const;

  std::vector<Part> steps_;
  std::vector<std::size_t> bytes_;  // of each buffer; 0: not in the slab
  std::size_t numbers_ = 0;         // an upper bound of the numbers in all lists of a run
  std::vector<int> producer_;       // of each buffer; -1: none, or not in the forward pass
};

// recompute_choice.cpp: chooses what is computed again, so that no more bytes of the slab live at once than
// `most`, at the least cost that was found. Nothing: no choice does it.
std::optional<Dropped> choose_dropped(const StepSketch& sketch, std::size_t most);

// Returns the choice with the fewest bytes living at once.
Dropped choose_smallest(const StepSketch& sketch);

// fit_limit.cpp: the bytes that the limit of a plan is about.
std::size_t counted_bytes(const StepPlan& plan, const CompileOptions& options);

// fit_limit.cpp: plans the graph with recomputation until the plan fits the limit. `whole` is the plan
// without; `make` plans a graph of which the given nodes run for the second time. Error (unsupported) says
// how much the smallest plan takes.
using MakePlan = std::function<CompiledStep(const graph::Graph&, const Dropped& again)>;
CompiledStep fit_to_limit(const graph::Graph& graph, CompiledStep whole, const CompileOptions& options,
                          const MakePlan& make);

}  // namespace trainyard::plan
