// list, status, inspect

#include <ctime>

#include "base/text.h"
#include "cli/arguments.h"
#include "cli/msb/msb.h"
#include "cli/print.h"
#include "record/record.h"

namespace cove::cli::msb {
namespace {

struct ListOptions {
  Common common;
  std::string name;
  bool json = false, running = false, stopped = false, all = false;
};

void define_format(Arguments& arguments, ListOptions& options) {
  define(arguments, options.common);
  arguments.value("--format", "FORMAT", "json", [&options](const std::string& text) -> Result<void> {
    options.json = true;
    return text == "json" ? Result<void>{} : fail(Errc::invalid, "'" + text + "' is not json, the only one there is");
  });
}
void define_list(Arguments& arguments, ListOptions& options) {
  define_format(arguments, options);
  arguments.flag("--running", options.running, "List running sandboxes only");
  arguments.flag("--stopped", options.stopped, "List stopped sandboxes only");
}
void define_status(Arguments& arguments, ListOptions& options) {
  define_format(arguments, options);
  arguments.flag("-a,--all", options.all, "Include stopped sandboxes");
  arguments.positional("NAME", options.name, Need::optional, "The sandbox");
}
void define_inspect(Arguments& arguments, ListOptions& options) {
  define_format(arguments, options);
  arguments.positional("NAME", options.name, Need::required, "The sandbox");
}

std::string status_of(const record::Info& info) {
  switch (info.life) {
    case record::Life::running: return "Running";
    case record::Life::stopped: return "Stopped";
    case record::Life::failed: break;
  }
  return "Crashed";
}

std::string created(const record::Info& info) {
  const std::time_t when = info.created_unix;
  std::tm parts{};
  char text[32] = "";
  if (gmtime_r(&when, &parts) != nullptr) (void)std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string to_json(const record::Info& info) {
  const auto limit = [](std::uint64_t value) { return value == 0 ? "null" : std::to_string(value); };
  std::string volumes;
  for (const std::string& each : info.spec.volumes) volumes += (volumes.empty() ? "" : ", ") + json_quote(each);
  return "{\"name\": " + json_quote(info.name) + ", \"status\": " + json_quote(status_of(info)) +
         ", \"image\": " + json_quote(info.spec.image) + ", \"created_at\": " + json_quote(created(info)) +
         ", \"backend\": " + json_quote(info.spec.backend) +
         ", \"cpus\": " + (info.spec.cpus == 0 ? "null" : std::to_string(info.spec.cpus)) +
         ", \"memory_bytes\": " + limit(info.spec.memory_bytes) + ", \"network\": " + json_quote(info.spec.net) +
         ", \"workdir\": " + json_quote(info.spec.cwd) + ", \"volumes\": [" + volumes + "]}";
}

int show(const std::vector<record::Info>& all, const ListOptions& options) {
  if (options.json) {
    std::string text = "[";
    for (const record::Info& info : all) text += (text.size() == 1 ? "\n  " : ",\n  ") + to_json(info);
    print(text + (all.empty() ? "]\n" : "\n]\n"));
  } else if (options.common.quiet) {
    for (const record::Info& info : all) print(info.name + "\n");
  } else if (all.empty()) {
    print("No sandboxes found.\n");
  } else {
    std::vector<Row> rows{{"NAME", "IMAGE", "STATUS", "CREATED"}};
    for (const record::Info& info : all) rows.push_back({info.name, info.spec.image, status_of(info), created(info)});
    print_table(rows);
  }
  return 0;
}

int show_those(const ListOptions& options, bool running, bool others) {
  auto all = record::list();
  if (!all) return failed(all.error());
  std::erase_if(*all,
                [&](const record::Info& info) { return info.life == record::Life::running ? !running : !others; });
  return show(*all, options);
}

int list_main(Arguments& arguments, std::vector<std::string> words) {
  ListOptions options;
  define_list(arguments, options);
  if (auto code = arguments.parse(std::move(words))) return *code;
  return show_those(options, !options.stopped || options.running, !options.running || options.stopped);
}

int status_main(Arguments& arguments, std::vector<std::string> words) {
  ListOptions options;
  define_status(arguments, options);
  if (auto code = arguments.parse(std::move(words))) return *code;
  if (options.name.empty()) return show_those(options, true, options.all);
  const auto info = look(options.name);
  return info ? show({*info}, options) : failed(info.error());
}

int inspect_main(Arguments& arguments, std::vector<std::string> words) {
  ListOptions options;
  define_inspect(arguments, options);
  if (auto code = arguments.parse(std::move(words))) return *code;
  const auto info = look(options.name);
  if (!info) return failed(info.error());
  if (options.json) {
    print(to_json(*info) + "\n");
    return 0;
  }
  std::vector<Row> rows{{"Name:", info->name},        {"Status:", status_of(*info)},    {"Image:", info->spec.image},
                        {"Created:", created(*info)}, {"Backend:", info->spec.backend}, {"Network:", info->spec.net},
                        {"Workdir:", info->spec.cwd}};
  if (info->spec.memory_bytes != 0) rows.push_back({"Memory:", size_text(info->spec.memory_bytes)});
  for (const std::string& volume : info->spec.volumes) rows.push_back({"Volume:", volume});
  print_table(rows);
  return 0;
}

template <auto Define>
void describe_list(Arguments& arguments) {
  static ListOptions options;
  Define(arguments, options);
}

}  // namespace

const Command kList{
    .name = "list",
    .usage = "[--running] [--stopped] [--quiet] [--format json]",
    .summary = "List the sandboxes",
    .examples = "  msb ls\n  msb ls -q\n  msb ls --format json",
    .run = list_main,
    .describe = describe_list<define_list>,
    .program = "msb",
};

const Command kStatus{
    .name = "status",
    .usage = "[NAME] [--all] [--format json]",
    .summary = "List running sandboxes, or show one",
    .examples = "  msb ps\n  msb status t",
    .run = status_main,
    .describe = describe_list<define_status>,
    .program = "msb",
};

const Command kInspect{
    .name = "inspect",
    .usage = "NAME [--format json]",
    .summary = "Show configuration and state of a sandbox",
    .examples = "  msb inspect t --format json",
    .run = inspect_main,
    .describe = describe_list<define_inspect>,
    .program = "msb",
};

}  // namespace cove::cli::msb
