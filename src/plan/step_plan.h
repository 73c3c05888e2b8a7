#pragma once

#include "backend/kernel.h"
#include "graph/graph.h"
#include "graph/op_def.h"
#include "tensor/layout.h"

namespace trainyard::plan {

// Regions are flat arrays that live as long as the plan. The first four outlive a step; a slice of them is a
// server shard, an all-reduce bucket, a piece of a checkpoint. The slab holds the values that live inside one
// step, shared by lifetime.
enum class Region : std::uint8_t {
  parameters,
  gradients,
  optimizer_state,
  statistics,
  copies,  // of parameters, in another type
  inputs,
  outputs,
  slab
};
inline constexpr std::size_t kRegions = 8;

const char* name(Region region);

// A buffer holds a value in one layout. A value that some kernel wants in another layout has a second buffer.
struct Buffer {
  std::string name;
  graph::ValueId value = graph::kNone;
  graph::TensorType type;
  Layout layout;
  std::size_t bytes = 0;  // padded by the layout, rounded up to the alignment
  Region region = Region::slab;
  std::size_t offset = 0;  // in its region
  bool workspace = false;
  bool saved = false;                   // made in the forward pass, read in the backward pass
  int first_step = -1, last_step = -1;  // steps that touch it
};

// Names a candidate that did not run the node: it declined, or was slower than the chosen one.
struct Declined {
  std::string candidate, reason;
};

// One kernel call.
struct Step {
  std::string name, op, kernel;
  std::string choice;  // what the kernel chose among its own ways by measuring; often empty
  std::string attributes;
  graph::NodeId node = graph::kNone;  // kNone for a reorder
  graph::Phase phase = graph::Phase::forward;
  graph::Category category = graph::Category::copy;  // of a reorder
  std::vector<int> inputs, outputs;                  // buffers
  int workspace = -1;                                // buffer, or -1
  graph::Cost cost;
  std::vector<Declined> declined;
  bool recomputed = false;     // does again, for the backward pass, what a forward step did
  int lane = 0;                // where it runs beside others, on devices that have lanes
  std::vector<int> waits_for;  // steps of other lanes
  // If set, no step waits for it before the next training step, and it may still run beside that.
  bool late = false;
  int waits_for_late = -1;  // the last such of the training step before that it must not overtake

  bool is_reorder() const { return node == graph::kNone; }
  // Returns whether the step is part of the optimizer. A reorder that brings a gradient to its stored place
  // is not.
  bool is_update() const { return phase == graph::Phase::update && !is_reorder(); }
};

// A StepPlan is a compiled step as plain data: printable, comparable.
struct StepPlan {
  std::string backend;
  int threads = 0;  // kernels booked workspace for this many, and may not run with another number
  std::vector<Step> steps;
  std::vector<Buffer> buffers;
  std::array<std::size_t, kRegions> region_bytes{};
  std::vector<std::string> fusions;  // what the fusion pass did, and did not and why
  // The limit that a plan had to fit, and the bytes of the plan that computes nothing again; 0 without a
  // limit.
  std::size_t limit_bytes = 0, unlimited_bytes = 0;

  std::size_t bytes(Region region) const { return region_bytes[static_cast<std::size_t>(region)]; }
  std::size_t total_bytes() const;
  // Returns the sum of the slab's buffers if none were shared.
  std::size_t unshared_slab_bytes() const;
  int reorders() const;
  // These return the work of the nodes that compute for the first time, and of those that do so again.
  // Together with the reorders they are what runs.
  graph::Cost work() const;
  graph::Cost recomputed_work() const;
  // Returns the persistent buffer of a named value; -1 when there is none.
  int find_buffer(const std::string& value_name) const;
};

// Holds the plan with the kernels and the device that execute it.
struct CompiledStep {
  std::shared_ptr<backend::Device> device;
  std::unique_ptr<const graph::Graph> graph;  // after fusion; kernels refer to it
  StepPlan plan;
  std::vector<std::unique_ptr<backend::Kernel>> kernels;  // one per step
};

// One line a step and a buffer, for golden tests and people.
std::string to_text(const StepPlan& plan);

// UpdatedParameter holds the inputs of an update, parameter by parameter.
struct UpdatedParameter {
  graph::ValueId value, gradient;
  std::vector<graph::ValueId> slots;
  graph::ValueId copy = graph::kNone;
};

// REQUIRES: a node of update_op.
std::vector<UpdatedParameter> parameters_of(const graph::Graph& graph, const graph::Node& update);

// Appends the inputs of these parameters to those of an update or a dense_update. REQUIRES: at least one
// parameter.
void add_parameters(graph::Node& update, const std::vector<UpdatedParameter>& parameters);

}  // namespace trainyard::plan
