#include <nlohmann/json.hpp>

#include "base/error.h"
#include "study/job.h"

namespace trainyard::study {
namespace {

using OrderedJson = nlohmann::ordered_json;

}  // namespace

std::string to_json(const Job& job) {
  const Resources& resources = job.resources;
  const OrderedJson json = {{"run_id", job.run_id},
                            {"study", job.study},
                            {"cell", job.cell},
                            {"build", job.build},
                            {"replicate", job.replicate},
                            {"attempt", job.attempt},
                            {"settings", OrderedJson::parse(record::to_json(job.settings))},
                            {"lane", job.lane},
                            {"kind", job.kind},
                            {"command", job.command},
                            {"setup", job.setup},
                            {"cleanup", job.cleanup},
                            {"setup_limit_seconds", job.setup_limit_seconds},
                            {"cleanup_limit_seconds", job.cleanup_limit_seconds},
                            {"outputs", job.outputs},
                            {"environment", job.environment},
                            {"time_limit_seconds", job.time_limit_seconds},
                            {"memory_limit_bytes", job.memory_limit_bytes},
                            {"wait_for_quiet_seconds", job.wait_for_quiet_seconds},
                            {"pin_clocks", job.pin_clocks},
                            {"resources",
                             {{"partition", resources.partition},
                              {"account", resources.account},
                              {"constraint", resources.constraint},
                              {"nodes", resources.nodes},
                              {"tasks_per_node", resources.tasks_per_node},
                              {"cpus_per_task", resources.cpus_per_task},
                              {"gpu_type", resources.gpu_type},
                              {"gpus_per_node", resources.gpus_per_node},
                              {"memory_bytes", resources.memory_bytes},
                              {"extra", resources.extra}}}};
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace);
}

Job job_from_json(const std::string& text) {
  try {
    const OrderedJson json = OrderedJson::parse(text);
    Job job;
    json.at("run_id").get_to(job.run_id);
    json.at("study").get_to(job.study);
    json.at("cell").get_to(job.cell);
    json.at("replicate").get_to(job.replicate);
    json.at("attempt").get_to(job.attempt);
    job.settings = record::settings_from_json(json.at("settings").dump());
    // Older files have none of these.
    job.build = json.value("build", "");
    job.lane = json.value("lane", "");
    job.setup = json.value("setup", std::vector<Command>());
    job.cleanup = json.value("cleanup", std::vector<Command>());
    job.setup_limit_seconds = json.value("setup_limit_seconds", kSideLimitSeconds);
    job.cleanup_limit_seconds = json.value("cleanup_limit_seconds", kSideLimitSeconds);
    job.outputs = json.value("outputs", std::vector<std::string>());
    job.wait_for_quiet_seconds = json.value("wait_for_quiet_seconds", 0.0);
    job.pin_clocks = json.value("pin_clocks", false);
    json.at("kind").get_to(job.kind);
    json.at("command").get_to(job.command);
    json.at("environment").get_to(job.environment);
    json.at("time_limit_seconds").get_to(job.time_limit_seconds);
    json.at("memory_limit_bytes").get_to(job.memory_limit_bytes);
    const OrderedJson& resources = json.at("resources");
    resources.at("partition").get_to(job.resources.partition);
    resources.at("account").get_to(job.resources.account);
    resources.at("constraint").get_to(job.resources.constraint);
    resources.at("nodes").get_to(job.resources.nodes);
    resources.at("tasks_per_node").get_to(job.resources.tasks_per_node);
    resources.at("cpus_per_task").get_to(job.resources.cpus_per_task);
    resources.at("gpu_type").get_to(job.resources.gpu_type);
    resources.at("gpus_per_node").get_to(job.resources.gpus_per_node);
    resources.at("memory_bytes").get_to(job.resources.memory_bytes);
    resources.at("extra").get_to(job.resources.extra);
    return job;
  } catch (const OrderedJson::exception& error) {
    fail(ErrorKind::config, "job file: {}", error.what());
  }
}

}  // namespace trainyard::study
