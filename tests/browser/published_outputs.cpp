#include "browser/published_outputs.h"

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "record/test_psc_runs.h"

namespace trainyard::browser_test {
namespace {

struct Output {
  std::string name, partition, node, gres, program, body;
  int cpus = 1, tasks = 1;
  std::string cpu_model = "";
  double wall_seconds = 0, cores = 0;  // wall 0: the job did not end by itself
};

class Writer {
 public:
  explicit Writer(const std::filesystem::path& folder) : folder_(folder) {
    std::filesystem::create_directories(folder);
  }

  void write(const Output& output) {
    ++written_;
    std::ofstream file(folder_ / output.name);
    if (!output.cpu_model.empty()) file << "Model name:            " << output.cpu_model << "\n";
    file << fmt::format("+ scontrol show jobid={}\n", 3'000'000 + written_)
         << fmt::format("   StartTime={}T{:02}:00:00 EndTime=Unknown\n", output.name.substr(0, 10),
                        written_ % 24)
         << fmt::format("   Partition={} AllocNode:Sid=br018:1\n   NodeList={}\n", output.partition,
                        output.node)
         << fmt::format("   NumNodes=1 NumCPUs={} NumTasks={}\n   Gres={}\n", output.cpus, output.tasks,
                        output.gres)
         << "   Command=/x/" << (output.name.find("local") == std::string::npos ? "job" : "job_local")
         << ".slurm\n"
         << "+ python " << output.program << "\n"
         << output.body << "\n";
    if (output.wall_seconds > 0)
      file << fmt::format("real\t0m{}s\nuser\t0m{}s\nsys\t0m0s\n", output.wall_seconds,
                          output.wall_seconds * output.cores);
  }

  void write_gpu(const std::string& name, const std::string& type, int count, const std::string& node,
                 const std::string& program, const std::string& body, double wall_seconds) {
    const int cpus = (type == "k80" ? 7 : 16) * count;
    write({name, "GPU-shared", node, fmt::format("gpu:{}:{}", type, count), program, body, cpus, cpus, "",
           wall_seconds, 1.3});
  }

  void write_cpu(const std::string& name, bool rm, int tasks, const std::string& body, double wall_seconds) {
    write({name, rm ? "RM" : "GPU", fmt::format("{}{:03}", rm ? "r" : "gpu", tasks), "(null)",
           "CNN_MNIST_CPU_ONLY.py", body, rm ? 28 : 32, tasks,
           rm ? "Intel(R) Xeon(R) CPU E5-2695 v3 @ 2.30GHz" : "Intel(R) Xeon(R) CPU E5-2683 v4 @ 2.10GHz",
           wall_seconds, 27.8});
  }

  int written() const { return written_; }

 private:
  std::filesystem::path folder_;
  int written_ = 0;
};

std::string result(double speed, double batch) {
  return fmt::format(
      "Mean Time Per Step : {}\nMean Speed : {} Images/Sec\nspeed uncertainty : {}\nSpeed Jitter : {}",
      batch / speed, speed, speed / 2000, speed / 20);
}

constexpr std::array kCores = {1, 2, 4, 7, 8, 14, 16, 28, 32};
constexpr const char* kCancelled =
    "slurmstepd: error: *** JOB 1 ON node CANCELLED AT 2018-06-13T10:00:00 ***";
constexpr const char* kTooLong =
    "slurmstepd: error: *** JOB 1 ON node CANCELLED AT 2018-07-06T01:00:00 DUE TO TIME LIMIT ***";

// Batch 50 on GPUs of which the program used one, and jobs that were cancelled or had mistakes.
void write_single(Writer& writer) {
  for (const record::PscRow& row : record::kPscRows) {
    const std::string date = std::string("2018-") + std::string(row.date).substr(0, 5);
    const bool later = date == "2018-06-14", unstated = row.scratch_node == nullptr;
    const std::string head = fmt::format("{}-{}{}:{}", date, later ? "GPU-" : "", row.gpu, row.gpus);
    writer.write_gpu(head + (unstated ? "" : ":local"), row.gpu, row.gpus, row.local_node, "CNN_MNIST.py",
                     result(row.local, 50), 1e6 / row.local);
    if (!unstated)
      writer.write_gpu(head + ":scratch", row.gpu, row.gpus, row.scratch_node, "CNN_MNIST.py",
                       result(row.scratch, 50), 1e6 / row.scratch);
  }
  for (const auto& [type, count] : {std::pair("k80", 1), {"k80", 2}, {"k80", 4}, {"p100", 1}, {"p100", 2}})
    for (const char* staging : {"local", "scratch"}) {
      writer.write_gpu(fmt::format("2018-06-11-{}:{}:{}", type, count, staging), type, count, "gpu011",
                       "CNN_MNIST.py", kCancelled, 0);
      if (staging == std::string("local"))
        writer.write_gpu(fmt::format("2018-06-12-{}:{}:{}", type, count, staging), type, count, "gpu001",
                         "CNN_MNIST.py", "SyntaxError: invalid syntax", 1);
    }
}

// Towers of 22 June: with the parameters on the host (1024 images a GPU) and on the device (512).
void write_towers(Writer& writer) {
  struct Row {
    const char* type;
    int count;
    double host, device;
  };
  for (const Row& row :
       {Row{"k80", 1, 13142.6, 11264.6}, Row{"k80", 2, 11545.5, 7801.1}, Row{"k80", 4, 8221.2, 7454.3},
        Row{"p100", 1, 36245.4, 35625.7}, Row{"p100", 2, 38752.8, 32317.5}})
    for (const bool host : {true, false}) {
      const char* variant = host ? "PS" : "IN";
      const std::string program = host ? "CNN_MNIST_PS.py" : "CNN_MNIST_INDEPENDENT.py";
      const int batch = host ? 1024 : 512;
      const std::string head = fmt::format("2018-06-22-GPU-{}:{}", row.type, row.count);
      const std::string steps =
          fmt::format("step 4980, training accuracy {}\nstep 4990, training accuracy {}\n",
                      1.0 / (batch * row.count), 3.0 / (batch * row.count));
      writer.write_gpu(fmt::format("{}:scratch:{}", head, variant), row.type, row.count, "gpu021", program,
                       steps + result(host ? row.host : row.device, batch), 300);
      writer.write_gpu(
          fmt::format("{}:local:{}", head, variant), row.type, row.count, "gpu013", program,
          fmt::format("python: can't open file '{}': [Errno 2] No such file or directory", program), 1);
    }
  for (const int batch : {16, 32})
    writer.write_gpu(fmt::format("2018-07-02-GPU-k80:1:{}:scratch:PS", batch), "k80", 1, "gpu001",
                     "CNN_MNIST_PS.py", "NameError: name 'sys' is not defined", 1);
}

// Writes runs of batch 50 on CPUs in June, and the sweeps over cores and batch of July.
void write_cpus(Writer& writer) {
  constexpr std::array kGpuNodes = {188.1, 195.3, 194.4, 189.8, 196.2, 194.1, 190.0, 193.8, 195.0};
  constexpr std::array kRmNodes = {159.2, 163.2, 151.9, 150.8, 159.2, 163.8, 134.7, 150.4};
  for (std::size_t i = 0; i < kCores.size(); ++i) {
    writer.write_cpu(fmt::format("2018-06-11-CPU-GPU:E5-2683-V4:{}", kCores[i]), false, kCores[i],
                     result(kGpuNodes[i], 50), 5200);
    if (i == kRmNodes.size()) continue;
    writer.write_cpu(fmt::format("2018-06-11-CPU-RM:E5-2695-V2:{}", kCores[i]), true, kCores[i],
                     result(kRmNodes[i], 50), 6600);
    for (const char* staging : {"local", "scratch"})
      writer.write_cpu(fmt::format("2018-06-13-CPU-RM:E5-2695-V2:{}:{}", kCores[i], staging), true, kCores[i],
                       kCancelled, 0);
  }
  for (const auto& [cores, speed] : {std::pair(1, 166.2), {2, 154.8}, {4, 155.7}})
    writer.write_cpu(fmt::format("2018-06-12-CPU-RM:E5-2695-V2:{}", cores), true, cores, result(speed, 50),
                     6600);
  const auto sweep = [&](const std::string& name, bool rm, int cores, int batch, double speed,
                         const char* else_body) {
    const std::string steps = "step 4980, training accuracy 0.98\nstep 4990, training accuracy 0.98\n";
    writer.write_cpu(name, rm, cores, speed > 0 ? steps + result(speed, batch) : else_body,
                     speed > 0 ? 5000 * batch / speed : 0);
  };
  // The speeds of one core, which those of all others repeat within a few per cent; what was too slow has
  // none.
  constexpr std::array kSpeeds = {57.4, 102.2, 194.0, 329.1, 526.0, 738.4, 1007.2, 1473.5, 1966.2, 0.0, 0.0};
  for (std::size_t core = 0; core < kRmNodes.size(); ++core)
    for (std::size_t i = 0; i < kSpeeds.size(); ++i) {
      const int batch = 16 << i, cores = kCores[core];
      const bool crashed = batch == 4096 && cores == 4, late = batch == 4096 && cores == 16;
      sweep(fmt::format("2018-07-05-CPU-RM:E5-2695-V2:{}:{}:scratch", cores, batch), true, cores, batch,
            crashed || late ? 0 : kSpeeds[i] * (1 - 0.003 * static_cast<double>(core)),
            crashed ? "line 40: 1234 Illegal instruction     (core dumped) python" : kTooLong);
    }
  const std::array<std::pair<double, double>, 6> tuned = {{{944.8, 804.0},
                                                           {1387.5, 1393.3},
                                                           {1840.3, 1838.1},
                                                           {2253.4, 2250.5},
                                                           {2578.1, 2561.3},
                                                           {2162.9, 2237.5}}};
  for (std::size_t i = 0; i < tuned.size(); ++i)
    for (const bool local : {true, false})
      sweep(fmt::format("2018-07-24-CPU-GPU:E5-2683-V4:1:{}:{}", 16 << i, local ? "local" : "scratch"), false,
            1, 16 << i, local ? tuned[i].first : tuned[i].second, "");
}

}  // namespace

int write_published_outputs(const std::filesystem::path& folder) {
  Writer writer(folder);
  write_single(writer);
  write_towers(writer);
  write_cpus(writer);
  return writer.written();
}

}  // namespace trainyard::browser_test
