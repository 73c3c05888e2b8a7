#include "base/json.h"
#include "cli/train.h"

#include "base/text.h"
#include "cli/outputs.h"
#include "cli/text_table.h"
#include "engine/canonical.h"
#include "graph/autodiff.h"
#include "meter/process_stat.h"
#include "networks/generator/generator.h"
#include "networks/generator/parameter.h"
#include "networks/zoo/zoo.h"
#include "predict/runs/graph_work.h"
#include "process/stop_request.h"
#include "train/session/device_threads.h"
#include "train/session/session.h"

namespace trainyard::cli {

namespace {

struct ExplainOptions {
  run::RunOptions run;
  bool time = false, declined = false, counts = false;
};

struct Explained {
  plan::StepPlan plan;
  std::vector<double> kernel_seconds;  // empty unless timed; NaN of a kernel that was not when it was stopped
  bool interrupted = false;            // before all kernels were timed as often as they should be
  std::int64_t parameters = 0;
  bool on_host = true;
  // On the host of the whole process, predicted unless timed; on a GPU of its memory, all by the plan.
  std::size_t peak_bytes = 0;
};

// Prints the bytes of each buffer class before sharing, and what the plan really takes.
std::map<std::string, std::size_t> bytes_by_class(const plan::StepPlan& plan) {
  std::map<std::string, std::size_t> bytes;
  for (const plan::Buffer& buffer : plan.buffers) {
    const bool slab = buffer.region == plan::Region::slab;
    bytes[!slab              ? plan::name(buffer.region)
          : buffer.workspace ? "workspace"
          : buffer.saved     ? "saved activations"
                             : "temporaries"] += buffer.bytes;
  }
  return bytes;
}

// Returns the mean seconds of each kernel over some rounds, or over those done when a stop was requested.
std::vector<double> time_kernels(engine::Executor& executor, std::uint64_t seed) {
  constexpr int kWarmup = 2, kRounds = 5;
  // Kernel by kernel, so that a step of minutes can be stopped; a GPU would time each of them for long.
  std::vector<double> unused;
  for (int i = 0; i < kWarmup && !process::StopRequest::asked(); ++i)
    if (executor.on_host())
      executor.run_timed({seed, i}, unused, process::StopRequest::asked);
    else
      executor.run({seed, i});
  std::vector<double> seconds;
  std::vector<int> rounds(executor.plan().steps.size());
  for (int i = 0; i < kRounds && !process::StopRequest::asked(); ++i) {
    const std::size_t timed = executor.run_timed({seed, kWarmup + i}, seconds, process::StopRequest::asked);
    for (std::size_t s = 0; s < timed; ++s) ++rounds[s];
  }
  seconds.resize(rounds.size());
  for (std::size_t s = 0; s < seconds.size(); ++s)
    seconds[s] = rounds[s] > 0 ? seconds[s] / rounds[s] : std::numeric_limits<double>::quiet_NaN();
  return seconds;
}

Explained look_at(const ExplainOptions& options) {
  const train::SessionOptions session_options = to_session(options.run);
  Explained result;
  if (options.time) {
    const process::StopRequest guard;
    train::Session session(session_options);
    engine::initialise_inputs(session.executor(), options.run.seed);
    result.kernel_seconds = time_kernels(session.executor(), options.run.seed);
    result.interrupted = process::StopRequest::asked();
    result.plan = session.executor().plan();
    result.parameters = session.parameters();
    result.on_host = session.executor().on_host();
    result.peak_bytes = static_cast<std::size_t>(meter::peak_resident_bytes());
  } else {
    train::limit_threads(session_options.threads);
    const auto backend = backend::make_backend(session_options.backend, session_options.device,
                                               session_options.precision, session_options.tuning);
    const plan::CompiledStep step = train::compile_step(session_options, *backend);
    result.plan = step.plan;
    result.parameters = graph::parameter_count(*step.graph);
    result.on_host = step.device->is_host();
    // The process needs memory besides the plan: for its code, its libraries and the kernels generated while
    // planning.
    result.peak_bytes = static_cast<std::size_t>(meter::peak_resident_bytes()) + step.plan.total_bytes();
  }
  if (!result.on_host) result.peak_bytes = result.plan.total_bytes();
  return result;
}

std::string layouts_of(const plan::StepPlan& plan, const std::vector<int>& buffers) {
  std::string text;
  for (std::size_t i = 0; i < buffers.size() && i < 3; ++i)
    text += (i == 0 ? "" : ",") + plan.buffers[static_cast<std::size_t>(buffers[i])].layout.to_string();
  return buffers.size() > 3 ? text + ",..." : text;
}

void print_steps(const Explained& explained, bool declined) {
  const plan::StepPlan& plan = explained.plan;
  fmt::print("{:<34} {:<28} {:<26} {:<34} {:>12} {:>10} {}\n", "node", "kernel", "attributes", "layouts",
             "flops", "bytes", explained.kernel_seconds.empty() ? "" : "      time     rate");
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const plan::Step& step = plan.steps[s];
    std::string line =
        fmt::format("{:<34.34} {:<28.28} {:<26.26} {:<34.34} {:>12} {:>10}", step.name, step.kernel,
                    step.attributes, layouts_of(plan, step.inputs) + " -> " + layouts_of(plan, step.outputs),
                    step.cost.flops > 0 ? format_flops(static_cast<double>(step.cost.flops)) : "",
                    format_bytes(step.cost.bytes_moved));
    if (!explained.kernel_seconds.empty() && std::isnan(explained.kernel_seconds[s])) {
      line += fmt::format(" {:>9}", "not timed");
    } else if (!explained.kernel_seconds.empty()) {
      const double seconds = explained.kernel_seconds[s];
      line += fmt::format(" {:>9} {:>10}", format_seconds(seconds),
                          step.cost.flops > 0 ? format_rate(static_cast<double>(step.cost.flops) / seconds)
                                              : format_bytes(static_cast<std::int64_t>(
                                                    static_cast<double>(step.cost.bytes_moved) / seconds)) +
                                                    "/s");
    }
    fmt::print("{}\n", line);
    if (!step.choice.empty()) fmt::print("    {}: {}\n", step.kernel, step.choice);
    if (declined)
      for (const plan::Declined& no : step.declined) fmt::print("    not {}: {}\n", no.candidate, no.reason);
  }
}

// The work of the network, without what is computed again, and that of reorders.
graph::Cost work_of(const plan::StepPlan& plan) {
  graph::Cost total;
  for (const plan::Step& step : plan.steps)
    if (!step.recomputed) total += step.cost;
  return total;
}

void print_recomputed(const plan::StepPlan& plan) {
  if (plan.limit_bytes == 0) return;
  const auto bytes = [](std::size_t count) { return format_bytes(static_cast<std::int64_t>(count)); };
  const graph::Cost again = plan.recomputed_work(), once = plan.work();
  const auto kernels = std::count_if(plan.steps.begin(), plan.steps.end(),
                                     [](const plan::Step& step) { return step.recomputed; });
  const double share =
      once.flops > 0 ? static_cast<double>(again.flops) / static_cast<double>(once.flops) : 0;
  fmt::print("\nto fit {}: {} instead of {}, by {} kernels that run again in the backward pass\n",
             bytes(plan.limit_bytes), bytes(plan.total_bytes()), bytes(plan.unlimited_bytes), kernels);
  fmt::print("  {} more in matrix products and convolutions ({:.1f} %), {} element by element; {} moved\n",
             format_flops(static_cast<double>(again.flops)), 100 * share,
             format_flops(static_cast<double>(again.elementwise_flops)), format_bytes(again.bytes_moved));
  for (const plan::Step& step : plan.steps) {
    if (!step.recomputed) continue;
    std::size_t freed = 0;
    for (const int id : step.outputs) freed += plan.buffers[static_cast<std::size_t>(id)].bytes;
    fmt::print("  {:<34} {:<22} {:>12} more, {:>10} less to keep\n", step.name, step.op,
               format_flops(static_cast<double>(step.cost.flops + step.cost.elementwise_flops)),
               bytes(freed));
  }
}

void print_people(const ExplainOptions& options, const Explained& explained) {
  const plan::StepPlan& plan = explained.plan;
  print_steps(explained, options.declined);
  const graph::Cost total = work_of(plan);
  fmt::print("\n{} batch {} on {}: {} kernels, {} reorders, {} parameters\n", options.run.network,
             options.run.batch, plan.backend, plan.steps.size(), plan.reorders(),
             format_count(static_cast<double>(explained.parameters)));
  fmt::print("flops per step: {} in matrix products and convolutions, {} element by element; {} moved\n",
             format_flops(static_cast<double>(total.flops)),
             format_flops(static_cast<double>(total.elementwise_flops)), format_bytes(total.bytes_moved));
  print_recomputed(plan);
  fmt::print("\nmemory by class\n");
  for (const auto& [name, bytes] : bytes_by_class(plan))
    fmt::print("  {:<20} {:>10}\n", name, format_bytes(static_cast<std::int64_t>(bytes)));
  fmt::print("  the slab shares {} of temporaries, saved activations and workspace in {}\n",
             format_bytes(static_cast<std::int64_t>(plan.unshared_slab_bytes())),
             format_bytes(static_cast<std::int64_t>(plan.bytes(plan::Region::slab))));
  const std::string planned = format_bytes(static_cast<std::int64_t>(plan.total_bytes()));
  if (explained.on_host)
    fmt::print("  plan {}, peak of the process {}\n", planned,
               format_bytes(static_cast<std::int64_t>(explained.peak_bytes)));
  else
    fmt::print("  plan {}, all of it in the memory of the GPU\n", planned);
  fmt::print("\nfusions\n");
  for (const std::string& fusion : plan.fusions) fmt::print("  {}\n", fusion);
}

Json to_json(const ExplainOptions& options, const Explained& explained) {
  const plan::StepPlan& plan = explained.plan;
  Json steps = Json::array();
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const plan::Step& step = plan.steps[s];
    Json layouts_in = Json::array(), layouts_out = Json::array(), declined = Json::array();
    for (const int id : step.inputs)
      layouts_in.push_back(plan.buffers[static_cast<std::size_t>(id)].layout.to_string());
    for (const int id : step.outputs)
      layouts_out.push_back(plan.buffers[static_cast<std::size_t>(id)].layout.to_string());
    for (const plan::Declined& no : step.declined)
      declined.push_back({{"candidate", no.candidate}, {"reason", no.reason}});
    Json row{{"node", step.name},
             {"op", step.op},
             {"kernel", step.kernel},
             {"choice", step.choice},
             {"attributes", step.attributes},
             {"phase", graph::name(step.phase)},
             {"recomputed", step.recomputed},
             {"input_layouts", layouts_in},
             {"output_layouts", layouts_out},
             {"flops", step.cost.flops},
             {"elementwise_flops", step.cost.elementwise_flops},
             {"bytes_moved", step.cost.bytes_moved},
             {"declined", declined}};
    if (!explained.kernel_seconds.empty())
      row["seconds"] = explained.kernel_seconds[s];  // of one that was not timed: null
    steps.push_back(std::move(row));
  }
  Json classes;
  for (const auto& [name, bytes] : bytes_by_class(plan)) classes[name] = bytes;
  Json json{{"network", options.run.network},
            {"batch", options.run.batch},
            {"backend", plan.backend},
            {"parameters", explained.parameters},
            {"flops_per_step", work_of(plan).flops},
            {"reorders", plan.reorders()},
            {"bytes_by_class", classes},
            {"slab_bytes", plan.bytes(plan::Region::slab)},
            {"plan_bytes", plan.total_bytes()},
            {"peak_memory_bytes", explained.peak_bytes},
            {"fusions", plan.fusions},
            {"steps", steps}};
  if (plan.limit_bytes > 0)
    json.update({{"plan_limit_bytes", plan.limit_bytes},
                 {"unlimited_plan_bytes", plan.unlimited_bytes},
                 {"recomputed_flops_per_step", plan.recomputed_work().flops},
                 {"recomputed_bytes_per_step", plan.recomputed_work().bytes_moved}});
  if (explained.interrupted) json["interrupted"] = true;
  return json;
}

// Whether the network is a file whose ops alone can be costed, or whose forward pass alone could be planned.
bool is_only_a_graph(const run::RunOptions& options) {
  if (!predict::is_foreign_graph(options.network)) return false;
  if (options.mode != "infer") return true;
  const auto format = interchange::format_of(options.network);
  return format != interchange::Format::onnx ||
         !interchange::read_graph_file(options.network, {.batch = options.batch}).network->obstacles.empty();
}

// Says how far the timing came.
std::string how_far(const Explained& explained) {
  const auto timed = std::count_if(explained.kernel_seconds.begin(), explained.kernel_seconds.end(),
                                   [](double seconds) { return !std::isnan(seconds); });
  return fmt::format("interrupted: {} of {} kernels were timed, in fewer rounds than usual", timed,
                     explained.kernel_seconds.size());
}

}  // namespace

std::function<int()> declare_explain(Command& command) {
  const auto options = std::make_shared<ExplainOptions>();
  add_run_options(command, options->run, true);
  add_mode_option(command, options->run);
  command.add_flag("--json", options->run.json, "One JSON object on standard output");
  command.add_flag("--time", options->time, "Run the step and show each kernel's time");
  command.add_flag("--declined", options->declined, "Show candidates that declined or were slower");
  command.add_flag("--counts", options->counts,
                   "Only what a step costs: by formulas, by the graph and by the kernels");
  command.footer(
      "Ctrl-C while kernels are timed shows the times so far, marked, with exit code 130.\n\n"
      "Examples:\n"
      "  trainyard explain deepmnist --batch 50 --declined\n"
      "  trainyard explain fc --layers 8 --width 256 --batch 64 --counts --json");
  return [options, &command] {
    run::want_choice("explain", "mode", options->run.mode);
    if (is_only_a_graph(options->run)) {
      explain_graph(options->run);
      return 0;
    }
    std::vector<Idle> idle = idle_options(options->run);
    idle.push_back({options->counts, {"--time", "--declined"}, "--counts shows no kernels"});
    idle.push_back({true, {"--weights", "--partial-weights"}, "kernels take as long with random weights"});
    warn_of_idle_options(command, idle);
    if (options->counts) {
      explain_counts(options->run);
      return 0;
    }
    const Explained explained = look_at(*options);
    if (options->run.json)
      fmt::print("{}\n", json_text(to_json(*options, explained)));
    else
      print_people(*options, explained);
    return explained.interrupted ? report_interrupted(how_far(explained)) : 0;
  };
}

namespace {

using networks::generator::Counts;
using networks::generator::PublishedCounts;

struct CountsRow {
  const char *key, *label;
  std::int64_t Counts::*count;
};

constexpr std::array kRows = {CountsRow{"parameters", "parameters", &Counts::parameters},
                              CountsRow{"forward_flops", "forward flops", &Counts::forward_flops},
                              CountsRow{"backward_flops", "backward flops", &Counts::backward_flops},
                              CountsRow{"compulsory_bytes", "bytes moved", &Counts::compulsory_bytes},
                              CountsRow{"saved_bytes", "saved activations", &Counts::saved_bytes},
                              CountsRow{"peak_bytes", "peak memory", &Counts::peak_bytes}};

struct CountedSteps {
  std::optional<Counts> by_formula;  // of generated networks
  Counts by_graph, by_kernels;
  std::optional<PublishedCounts> published;
};

// Kernels do several nodes at once, so they move and keep less than the graph. What runs again to save memory
// is no work of the network.
Counts count_kernels(const plan::CompiledStep& step, std::int64_t parameters) {
  Counts counts{.parameters = parameters};
  for (const plan::Step& each : step.plan.steps) {
    if (each.recomputed) continue;
    (each.phase == graph::Phase::forward ? counts.forward_flops : counts.backward_flops) += each.cost.flops;
    counts.compulsory_bytes += each.cost.bytes_moved;
  }
  for (const plan::Buffer& buffer : step.plan.buffers)
    if (buffer.saved && buffer.region == plan::Region::slab)
      counts.saved_bytes += static_cast<std::int64_t>(buffer.bytes);
  counts.peak_bytes = static_cast<std::int64_t>(step.plan.total_bytes());
  return counts;
}

CountedSteps count(const run::RunOptions& options, const train::SessionOptions& session) {
  const networks::NetworkInfo& network = networks::find_network(options.network);
  const int classes = options.classes > 0 ? options.classes : network.classes;
  CountedSteps counted;
  if (network.generator != nullptr && network.generator->count != nullptr) {
    const auto parameters = networks::parameters_of(network, options.parameters);
    counted.by_formula =
        network.generator->count(parameters, classes,
                                 {.batch = session.model.batch,
                                  .training = session.model.training,
                                  .slots = session.model.training ? session.update.slots() : 0});
    if (network.name == "fc")
      counted.published = networks::generator::published_fc(
          networks::generator::fc_sizes(parameters, classes), session.model.batch, session.model.training);
  }
  networks::Model model = networks::build_model(session.model);
  if (session.model.training) networks::add_training_step(model, session.update);
  counted.by_graph = networks::generator::count_graph(model.graph);
  train::limit_threads(session.threads);
  const auto backend =
      backend::make_backend(session.backend, session.device, session.precision, session.tuning);
  counted.by_kernels = count_kernels(train::compile_step(session, *backend), counted.by_graph.parameters);
  return counted;
}

void print_table(const run::RunOptions& options, const CountedSteps& counted) {
  TextTable table({"", "formula", "graph", "kernels"});
  for (const CountsRow& row : kRows)
    table.add({row.label, counted.by_formula ? fmt::format("{}", (*counted.by_formula).*row.count) : "",
               fmt::format("{}", counted.by_graph.*row.count),
               fmt::format("{}", counted.by_kernels.*row.count)});
  fmt::print("{}, batch {}, {}\n\n{}", options.network, options.batch,
             options.mode == "infer" ? "inference" : options.optimizer, table.text());
  if (counted.published)
    fmt::print("\nas ParaDnn publishes it: {} parameters without biases, {} a step\n",
               counted.published->parameters, format_flops(counted.published->flops));
}

Json to_json(const Counts& counts) {
  Json json;
  for (const CountsRow& row : kRows) json[row.key] = counts.*row.count;
  return json;
}

}  // namespace

void explain_counts(const run::RunOptions& options) {
  if (!options.freeze.empty())
    fail(ErrorKind::usage, "--counts: formulas count all parameters as trained; leave out {}",
         Setting{"freeze"});
  const CountedSteps counted = count(options, to_session(options));
  if (!options.json) return print_table(options, counted);
  Json json{{"network", options.network}, {"batch", options.batch}, {"mode", options.mode}};
  json["formula"] = counted.by_formula ? to_json(*counted.by_formula) : Json(nullptr);
  json["graph"] = to_json(counted.by_graph);
  json["kernels"] = to_json(counted.by_kernels);
  if (counted.published)
    json["published"] = {{"parameters", counted.published->parameters}, {"flops", counted.published->flops}};
  fmt::print("{}\n", json_text(json));
}

}  // namespace trainyard::cli
