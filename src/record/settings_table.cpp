#include "record/settings.h"

// The table of settings has a row for each setting and command. Its flags say what else depends on it.
namespace trainyard::record {
namespace {

using Form = SettingInfo::Form;
using WordList = std::vector<std::string>;

constexpr unsigned kBench = SettingInfo::kBench, kTrain = SettingInfo::kTrain, kTimed = kBench | kTrain,
                   kExplain = SettingInfo::kExplain, kSteps = kTimed | kExplain,
                   kEnsemble = SettingInfo::kEnsemble, kResource = SettingInfo::kResource;

constexpr unsigned kNoKey = 1;        // an option of commands, no key of studies
constexpr unsigned kNotCompared = 2;  // runs that differ in it are comparable
constexpr unsigned kAsItRan = 4;      // the result of this name says what really ran
constexpr unsigned kAlways = 8;       // `asked` of every record of the command holds it
constexpr unsigned kUntold = 16;      // `asked` never does: other parts of the record say what came of it

SettingInfo word(const char* name, unsigned commands, const char* fallback, const char* about,
                 unsigned flags = 0, const char* letter = "") {
  SettingInfo row{.name = name, .commands = commands, .fallback = fallback, .about = about, .letter = letter};
  row.in_studies = (flags & kNoKey) == 0;
  row.compared = (flags & kNotCompared) == 0;
  row.as_it_ran = (flags & kAsItRan) != 0;
  if ((flags & kAlways) != 0) row.asked = SettingInfo::Asked::always;
  if ((flags & kUntold) != 0) row.asked = SettingInfo::Asked::never;
  return row;
}

SettingInfo typed(const char* type, SettingInfo row) {
  row.type = type;
  return row;
}

SettingInfo formed(Form form, SettingInfo row) {
  row.form = form;
  return row;
}

SettingInfo folder(const char* name, unsigned commands, const char* about, unsigned flags = 0) {
  return typed("DIR", word(name, commands, "", about, flags));
}

SettingInfo file(const char* name, unsigned commands, const char* about, unsigned flags = 0) {
  return typed("FILE", word(name, commands, "", about, flags));
}

SettingInfo output(const char* name, unsigned commands, const char* about, unsigned flags = 0,
                   const char* letter = "") {
  return formed(Form::output, word(name, commands, "", about, flags, letter));
}

SettingInfo truth(const char* name, unsigned commands, const char* about, unsigned flags = 0) {
  return formed(Form::truth, word(name, commands, "", about, flags));
}

SettingInfo choice(const char* name, unsigned commands, const WordList& words, const char* fallback,
                   const char* about, unsigned flags = 0) {
  SettingInfo row = formed(Form::choice, word(name, commands, fallback, about, flags));
  row.choices = words;
  return row;
}

SettingInfo number(const char* name, unsigned commands, const NumberRange& range, const char* fallback,
                   const char* about, unsigned flags = 0, const char* letter = "") {
  SettingInfo row = formed(Form::number, word(name, commands, fallback, about, flags, letter));
  row.range = range;
  return row;
}

SettingInfo count(const char* name, unsigned commands, const NumberRange& range, const char* fallback,
                  const char* about, unsigned flags = 0, const char* letter = "") {
  return formed(Form::count, number(name, commands, range, fallback, about, flags, letter));
}

const WordList kOwned;  // run/run_options.h knows whose words they are

const NumberRange kMany = NumberRange::whole(1, 1'000'000);  // no machine has more cores, processes or nodes
const NumberRange kSomeSeconds = NumberRange::above(0, 1e9);
const NumberRange kShare = NumberRange::below(0, 1);
const NumberRange kMembers = NumberRange::whole(1, 1'000);
const NumberRange kAnySteps = NumberRange::whole(1);
constexpr std::uint64_t kMostTokens = 65536;  // as generated networks have room for
const NumberRange kTokens = NumberRange::whole(1, kMostTokens);

std::vector<SettingInfo> step_settings() {
  return {
      word("network", kSteps, "deepmnist", "Network; `trainyard networks` lists them", kAsItRan | kAlways,
           "-n"),
      count("batch", kSteps, NumberRange::whole(1, std::uint64_t{1} << 30), "128",
            "Images, or sequences, per step", kAsItRan | kAlways, "-b"),
      count("classes", kSteps, NumberRange::whole(2, std::uint64_t{1} << 24), "",
            "Classes (default: the network's own, or the data set's)"),
      choice("backend", kSteps, kOwned, "auto", "{choices}", kAsItRan | kAlways),
      word("device", kSteps, "cpu", "cpu, cuda (the first GPU) or cuda:1", kAsItRan | kAlways),
      choice("precision", kSteps, {"f32", "tf32", "bf16"}, "f32",
             "{choices} (with f32 master weights); the last two on cuda", kAsItRan | kAlways),
      choice("tuning", kSteps, {"full", "quick"}, "full",
             "How hard a GPU's libraries are searched for the fastest way: full, or quick, for sweeps"),
      count("threads", kSteps, kMany, "", "CPU threads (default: all cores)", kAsItRan),
      number("seed", kSteps, NumberRange::whole(0, (std::uint64_t{1} << 63) - 1), "1",
             "Seed of everything random", kNotCompared | kAlways),
      truth("no_fusion", kSteps, "Run every op by itself"),
      typed(
          "BYTES",
          word("memory_limit", kSteps, "",
               "Memory that the plan of a step may take on each device: 512MiB, 4GB; forward values that do "
               "not fit are computed again in the backward pass, which changes no result")),
  };
}

std::vector<SettingInfo> start_settings() {
  return {
      file("weights", kSteps,
           "Start from these: .onnx, .safetensors, a PyTorch state dict (.pt, .pth), or a checkpoint or the "
           "folder "
           "of a run; tensors are matched by name, and the last layer starts afresh where its shape differs"),
      truth("new_head", kSteps, "The last layer starts from random numbers, whatever the file has"),
      truth(
          "partial_weights", kSteps,
          "What the file of --weights lacks starts from random numbers, and what it has beyond is left out"),
      typed("PATTERN,...",
            word("freeze", kSteps, "",
                 "Do not train these parameters: names with * and ?, or their beginning up to a / or a dot; "
                 "all-but-head: "
                 "all but the last layer's. Batch norms that are frozen use their running statistics")),
  };
}

std::vector<SettingInfo> update_settings() {
  return {
      choice("optimizer", kSteps, {"sgd", "momentum", "nesterov", "rmsprop", "adam", "adamw"}, "sgd",
             "{choices}", kAsItRan | kAlways),
      number("lr", kSteps, NumberRange::above(0), "", "Learning rate (default: 0.01; adam and adamw 0.001)"),
      choice("schedule", kSteps, {"constant", "step", "exponential", "cosine"}, "constant", "{choices}"),
      count("decay_steps", kSteps, kAnySteps, "",
            "Steps per decay, or of the whole cosine, behind the warm-up"),
      number("decay_factor", kSteps, NumberRange::above(0, 1), "0.1", "Factor per decay"),
      number("final_lr", kSteps, NumberRange::real(0), "0", "Where the cosine ends"),
      count("warmup_lr_steps", kSteps, NumberRange::whole(0), "",
            "Steps of linear warm-up of the learning rate"),
      number("momentum", kSteps, kShare, "0.9", "Momentum"),
      number("weight_decay", kSteps, NumberRange::real(0, 1), "",
             "L2 penalty on weights; decoupled for adamw"),
      truth("decay_matrices_only", kSteps,
            "The decay of adamw leaves out biases and the factors and offsets of norms"),
      number("clip_norm", kSteps, NumberRange::real(0), "",
             "Scale all gradients so that their norm is at most this; 0: as they are"),
      number("ema", kSteps, kShare, "", "Decay of the moving average of the weights; 0: none"),
      number("label_smoothing", kSteps, kShare, "", "Label smoothing"),
  };
}

std::vector<SettingInfo> measurement_settings() {
  return {
      choice("mode", kBench, {"train", "infer", "decode"}, "train",
             "train, a step with its backward pass and update; infer, the forward pass without loss and "
             "labels; or decode, of networks that make text: prompts are read, then tokens made one by one"),
      choice("mode", kExplain, {"train", "infer"}, "train",
             "train, a step with its backward pass and update, or infer, the forward pass without loss"),
      count("steps", kBench, kAnySteps, "50", "Timed steps", kNotCompared | kAlways, "-s"),
      number("warmup", kBench, NumberRange::whole(0, 1'000'000'000), "5", "Steps before the timed ones",
             kNotCompared),
      choice("feed", kBench, kOwned, "auto",
             "auto, the inputs stay as they are; device or host, each step gets a batch of synthetic "
             "images or sequences, made by a GPU in its memory or by threads of the host ahead of the "
             "steps"),
      number("until_width", kBench, NumberRange::between(0, 1), "",
             "Stop when the 95 % interval of the mean step is within this share of it, such as 0.02; "
             "--steps is the most",
             kNotCompared),
      number("max_seconds", kBench, kSomeSeconds, "", "Stop when the timed steps took so long together",
             kNotCompared),
      truth("no_peak", kBench, "Do not measure the machine's peak around the run: a second less",
            kNotCompared),
      truth("ops", kBench,
            "After the timed steps, time each kernel: seconds, flops and bytes by op and category",
            kNotCompared),
      typed("FILE", output("trace", kTimed,
                           "Trace some steps into a file that Perfetto and chrome://tracing open; `trace "
                           "summarize` reads it",
                           kUntold)),
      typed("COUNT|FIRST..LAST",
            word("trace_steps", kTimed, "3", "Which: so many, or those from FIRST to LAST, counted from 0",
                 kNoKey | kUntold)),
  };
}

std::vector<SettingInfo> request_settings() {
  return {
      count("prompt_tokens", kBench, kTokens, "32", "With --mode decode: tokens of each prompt"),
      count("new_tokens", kBench, NumberRange::whole(2, kMostTokens), "32",
            "There: tokens to make behind it, the first of which comes with reading it"),
      typed(
          "poisson:RATE|closed:N",
          choice("arrivals", kBench, {"poisson:RATE", "closed:N"}, "",
                 "Time requests, with --mode infer or decode: poisson:RATE, at random, so many a second, or "
                 "closed:N, N clients that each wait for their answer (default: full batches, one after "
                 "the other)")),
      count("requests", kBench, kAnySteps, "500", "Requests that --arrivals sends", kNotCompared),
      number("batch_wait", kBench, NumberRange::real(0, 3600), "0",
             "With --arrivals: seconds that a request waits at most for others to fill its --batch"),
      choice("batch_sizes", kBench, {"doubling", "one"}, "doubling",
             "With --arrivals, what batches that are not full run as: doubling, the least of 1, 2, 4 ... "
             "--batch that holds them; one, always --batch"),
  };
}

std::vector<SettingInfo> training_settings() {
  return {
      choice("preprocess", kTrain, kOwned, "", "{choices} (default: the network's)"),
      choice("feed", kTrain, kOwned, "auto",
             "Who makes the batches of a GPU: device, of images in its memory; host, which sends them "
             "ahead of the steps; auto: device, where the images are in memory and fit into its own"),
      count("steps", kTrain, kAnySteps, "", "Steps, counted from the very first", kNotCompared, "-s"),
      number("epochs", kTrain, kSomeSeconds, "1", "Passes over the training images", kNotCompared, "-e"),
      count("eval_every", kTrain, kAnySteps, "", "Steps between evaluations (default: only at the end)"),
      truth("no_eval", kTrain, "No evaluation on the test images", kNotCompared),
      typed("DIR", output("out", kTrain, "Folder for checkpoints, TensorBoard events and record.json",
                          kUntold, "-o")),
      count("checkpoint_every", kTrain, kAnySteps, "500", "Steps between checkpoints", kNoKey),
      count("keep", kTrain, kMany, "2", "Newest checkpoints that stay", kNoKey | kNotCompared),
  };
}

std::vector<SettingInfo> input_settings() {
  return {
      choice(
          "data", kTrain, kOwned, "synthetic",
          "mnist, cifar10; synthetic: made for the network; tfrecord:DIR, record files as data pack writes "
          "them; folder:DIR, JPEGs and PNGs in a folder a class; for networks that read sequences: "
          "moby-dick; "
          "text:FILE, its bytes; tokens:DIR, as data pack text writes them; language:SEED, made up, of known "
          "entropy",
          kAsItRan | kAlways),
      folder("from", kTrain, "Folder with the data set's files (default: the cache)", kNotCompared),
      folder("cache", kTrain, "Cache folder (default: ~/.cache/trainyard)", kNoKey | kNotCompared),
      choice("read", kTrain, {"memory", "mmap", "stream"}, "memory",
             "memory: all images at the start; mmap: pages as they are touched; stream: batch by batch",
             kAsItRan | kAlways),
      choice("staging", kTrain, {"in-place", "local", "memory"}, "in-place",
             "in-place; local, memory: copy the files to a local disk or a tmpfs first, and verify them",
             kAsItRan | kAlways),
      folder("staging_folder", kTrain,
             "Where to stage (default: $SLURM_TMPDIR, $LOCAL, $TMPDIR or /tmp; memory: /dev/shm)",
             kNotCompared),
  };
}

std::vector<SettingInfo> deployment_settings() {
  return {
      count("devices", kBench | kTrain, kMany, "1", "Devices; on the CPU each gets a share of the threads",
            kAsItRan | kAlways),
      count("accumulate", kBench | kTrain, kMany, "1",
            "Batches whose mean gradient makes an update, one after the other on each device"),
      choice("strategy", kBench, kOwned, "single", "How devices share the work: {choices}",
             kAsItRan | kAlways),
      choice("strategy", kTrain, kOwned, "single",
             "How devices share the work: {choices}; from bsp on with parameter servers", kAsItRan | kAlways),
      choice("scaling", kBench | kTrain, {"weak", "strong"}, "",
             "With several devices: weak (--batch is for each) or strong (they split it)", kAsItRan),
      count("workers", kTrain, kMany, "", "Workers that train one network together; weak scaling", kNoKey),
      choice("mode", kTrain, kOwned, "",
             "How workers exchange: {choices}; from bsp on with parameter servers (default: allreduce; "
             "bsp with --servers)",
             kNoKey | kUntold),
      choice("collective", kTrain, {"local", "mpi", "nccl"}, "",
             "Workers are local (threads), mpi (processes) or nccl (processes with a GPU each); "
             "default: mpi where it is built, nccl on GPUs",
             kNoKey | kUntold),
  };
}

std::vector<SettingInfo> server_settings() {
  return {
      count("servers", kTrain, kMany, "", "Parameter servers that share the network (default: 1)", kAsItRan),
      choice("wire", kTrain, {"f32", "bf16"}, "f32", "How numbers are sent: {choices}"),
      choice("wire_layout", kTrain, {"auto", "native", "canonical"}, "auto",
             "native (all workers compute alike), canonical (they need not) or auto (canonical where "
             "--hosts says device= or backend=)",
             kNoKey),
      choice("transport", kTrain, {"auto", "shm", "unix", "tcp"}, "auto",
             "auto (shm on one machine, tcp between several), shm, unix or tcp", kAsItRan),
      count("min_workers", kTrain, kMany, "",
            "With fewer for longer than --patience the run ends (default: all)", kNoKey | kNotCompared),
      count("restarts", kTrain, NumberRange::whole(0, 1'000'000), "3",
            "How often a process that died is started again", kNoKey | kNotCompared),
      number("lease", kTrain, NumberRange::above(0, 1e6), "3",
             "Seconds after which a silent process is taken for dead", kNoKey | kNotCompared),
      number("patience", kTrain, kSomeSeconds, "30",
             "Seconds to wait for processes that are missing before the run ends", kNoKey | kNotCompared),
      file("hosts", kTrain,
           "File with a line a machine: NAME [address=A] [workers=N] [servers=S] [device=D] "
           "[backend=B], localhost being this one; or the word slurm: the nodes of this allocation"),
      word("remote_shell", kTrain, "",
           "What starts a program on a machine of --hosts, whose name takes the place of {} or is the "
           "last word (default: ssh; srun for slurm)",
           kNoKey | kNotCompared),
      word("address", kTrain, "",
           "Of this machine, as those of --hosts reach it (default: its name; in a Slurm job as Slurm "
           "reaches it)",
           kNoKey | kNotCompared),
  };
}

std::vector<SettingInfo> ensemble_sizes() {
  return {
      file("ensemble", kEnsemble, "YAML file of the ensemble (docs/formats/ensemble.md)", kUntold),
      choice("design", kEnsemble,
             {"baseline", "all-shared", "single-broadcast", "multi-broadcast", "multi-broadcast-asbuilt",
              "shared-memory"},
             "", "How samples are shared: {choices}"),
      count("members", kEnsemble, kMembers, "", "So many members: the file's, again and again"),
      count("preprocessors", kEnsemble, kMembers, "", "Members that preprocess"),
      count("threads", kEnsemble, kMany, "", "Threads of each that preprocesses"),
      count("cores", kEnsemble, kMany, "", "Cores that all processes together may use"),
      count("steps", kEnsemble, kAnySteps, "", "Steps of each member", kNotCompared),
      number("epochs", kEnsemble, kSomeSeconds, "", "Epochs of each member", kNotCompared),
  };
}

std::vector<SettingInfo> ensemble_conduct() {
  return {
      number("rate", kEnsemble, NumberRange::real(0, 1e12), "",
             "Members train nothing, and take so many images a second as a device would; 0: as fast as "
             "they come"),
      number("seconds", kEnsemble, kSomeSeconds, "", "With --rate: end after so many seconds"),
      number("idle_seconds", kEnsemble, NumberRange::real(0, 1e6), "",
             "First let the machine idle so long, to know its power without the run"),
      number("patience", kEnsemble, kSomeSeconds, "", "Seconds to wait for a member or a preprocessor",
             kNoKey | kNotCompared),
      choice("lost", kEnsemble, {"wait", "drop", "abort"}, "", "When a member is lost: {choices}",
             kNoKey | kNotCompared),
      truth("no_eval", kEnsemble, "No vote on the test images", kNotCompared),
      file("hosts", kEnsemble,
           "Machines of the members: a file with a line each, NAME [workers=N], or the word slurm: the "
           "nodes of this allocation; wants --out, a folder that all see"),
      word("remote_shell", kEnsemble, "",
           "What starts a program on a machine of --hosts (default: as mpirun does)", kNoKey | kNotCompared),
      typed("DIR",
            output("out", kEnsemble, "Folder for checkpoints, logs and records; a folder a member", kUntold)),
  };
}

std::vector<SettingInfo> resource_settings() {
  return {
      word("partition", kResource, "", "Partition of the cluster", kNotCompared),
      word("account", kResource, "", "Account that pays", kNotCompared),
      word("constraint", kResource, "", "Features of nodes", kNotCompared),
      count("nodes", kResource, kMany, "", "Nodes of the job"),
      count("tasks_per_node", kResource, kMany, "", "Tasks on each node"),
      count("cpus_per_task", kResource, kMany, "", "CPUs of each task (default: `threads`)"),
      word("gpu_type", kResource, "", "Kind of GPU, as the cluster names it"),
      count("gpus", kResource, kMany, "", "GPUs of each node (default with `device: cuda`: `devices`)"),
      count("memory_mib", kResource, NumberRange::whole(1, std::uint64_t{1} << 40), "", "Memory of each node",
            kNotCompared),
  };
}

}  // namespace

const std::vector<SettingInfo>& all_settings() {
  static const std::vector<SettingInfo> kAll = [] {
    std::vector<SettingInfo> joined;
    for (const auto group : {step_settings, start_settings, update_settings, measurement_settings,
                             request_settings, training_settings, input_settings, deployment_settings,
                             server_settings, ensemble_sizes, ensemble_conduct, resource_settings})
      for (SettingInfo& row : group()) joined.push_back(std::move(row));
    return joined;
  }();
  return kAll;
}

}  // namespace trainyard::record
