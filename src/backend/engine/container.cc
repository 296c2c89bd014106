#include "backend/engine/container.h"

#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backend/engine/explain.h"
#include "backend/engine/names.h"
#include "backend/guest_path.h"

namespace cove::engine {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr auto kPullTime = 15min;

// What of a persistent sandbox is mounted where.
std::vector<std::pair<std::string, std::string>> kept_directories(const SandboxSpec& spec) {
  return {{workspace_directory(spec), "/workspace"}, {home_directory(spec), "/root"}};
}

// What makes another try of the same thing pointless.
bool is_passing(Errc code) { return code == Errc::disconnected || code == Errc::timeout || code == Errc::busy; }

std::string plain_id(std::string id) {
  if (id.starts_with("sha256:")) id.erase(0, 7);
  return id;
}

std::string text_at(const Json& json, const char* pointer) {
  const Json::json_pointer path(pointer);
  return json.contains(path) && json[path].is_string() ? json[path].get<std::string>() : "";
}

void pause_for(std::chrono::milliseconds time) { poll(nullptr, 0, static_cast<int>(time.count())); }

}  // namespace

Container::Container(Program program, std::string home, const std::string& sandbox)
    : program_(std::move(program)), home_(std::move(home)), name_(container_name(home_, sandbox)) {}

Result<Container> Container::plan(const SandboxSpec& spec, const Program& program, const Facts& facts) {
  COVE_CHECK(check(spec, program, facts));
  Container container(program, home_of(spec.directory), spec.name);
  container.spec_ = spec;
  container.facts_ = facts;
  container.way_ = facts.reaches(std::string(spec.option("runtime"))) ? Way::direct
                   : facts.local                                      ? Way::relayed
                                                                      : Way::remote;
  COVE_TRY(container.words_, run_words(spec, facts, container.way_));
  return container;
}

std::string Container::image_of(const std::string& base) const {
  return base.empty() ? spec_.image : layer_image(base);
}

std::string Container::image() const { return image_of(spec_.layers.empty() ? "" : spec_.layers.back()); }

// Elsewhere our files are not, so that the guest is copied in before anything runs.
Result<Call> Container::run() const {
  std::vector<std::string> args{"run", "--detach"};
  if (way_ == Way::remote) args = {"create"};
  args.emplace_back("--pull=never");
  args.insert(args.end(), words_.words.begin(), words_.words.end());
  args.push_back(image());
  for (const std::string& word : command_words()) args.push_back(word);
  if (way_ != Way::remote) return program_.begin(args);
  COVE_TRY(const Said said, program_.run(args, call_deadline()));
  // What went wrong is told by the one who runs it once more, and waits.
  if (said.code != 0) return program_.begin(args);
  COVE_CHECK(bring_guest());
  return program_.begin({"start", name_});
}

// As an archive, because that makes the directory, too, and says whose it is.
Result<void> Container::bring_guest() const {
  COVE_TRY(const std::string guest, find_guest());
  const Deadline deadline = call_deadline();
  char folder[] = "/tmp/cove-bring-XXXXXX";
  if (mkdtemp(folder) == nullptr) return fail_errno("make a directory for the guest");
  const std::string inside = std::string(folder) + "/cove";
  std::error_code error;
  std::filesystem::create_directory(inside, error);
  if (!error) std::filesystem::copy_file(guest, inside + "/guest", error);
  auto copied = error ? Result<std::string>(fail(errno_error(error.value(), "copy the guest")))
                      : program_.ask({"cp", inside, name_ + ":/"}, deadline);
  std::filesystem::remove_all(folder, error);
  if (!copied) return fail(std::move(copied).error());
  return {};
}

Result<os::Child> Container::relay(int socket) const {
  return program_.attach({"exec", "--interactive", name_, kGuestInside, "--relay", kSocketInside}, socket);
}

Result<void> Container::pull(Deadline) const {
  COVE_CHECK(program_.ask({"pull", "--quiet", spec_.image}, Deadline::after(kPullTime)));
  return {};
}

Result<void> Container::recover(const Said& said, Deadline deadline) {
  Error why = explain(program_, {"run"}, said);
  if (why.code == Errc::conflict && !std::exchange(cleared_, true)) {
    COVE_TRY(const bool ours, is_ours(deadline));
    if (ours) return remove(deadline);
    strangers_ = true;
    return fail(std::move(why));
  }
  if (why.code == Errc::not_found && spec_.layers.empty() && spec_.pull != "never" && !std::exchange(fetched_, true)) {
    auto pulled = pull(deadline);
    if (!pulled) return fail(std::move(pulled).error().because("fetch image " + spec_.image));
    return {};
  }
  forget_facts(program_, home_);
  if (why.code != Errc::conflict) [[maybe_unused]]
    const auto removed = remove(Deadline::after(10s));
  return fail(std::move(why));
}

Result<bool> Container::is_ours(Deadline deadline) const {
  auto label = program_.ask(
      {"container", "inspect", "--format", std::string("{{index .Config.Labels \"") + kHomeLabel + "\"}}", name_},
      deadline);
  if (!label && label.error().code == Errc::not_found) return true;  // it has gone meanwhile
  if (!label) return fail(std::move(label).error());
  return *label == hash_text(home_);
}

// "" if it is what it was asked to be, otherwise what is different.
Result<std::string> Container::differs(const std::string& inspected, Deadline deadline) const {
  Json about = Json::parse(inspected, nullptr, false);
  if (about.is_array() && !about.empty()) about = Json(about[0]);  // podman's way
  const auto label = [&](const char* key) { return text_at(about, ("/Config/Labels/" + std::string(key)).c_str()); };
  if (label(kSpecLabel) != words_.digest) return std::string("it was made with other mounts, limits or network");
  // Layers that were sealed since it was made are of it, not below it.
  const std::string base = label(kBaseLabel);
  if (!base.empty() && std::find(spec_.layers.begin(), spec_.layers.end(), base) == spec_.layers.end())
    return std::string("it stands on a state that was taken back");
  const auto now = program_.ask({"image", "inspect", "--format", "{{.Id}}", image_of(base)}, deadline);
  if (now && plain_id(*now) != plain_id(text_at(about, "/Image"))) return std::string("its image is another one now");
  return std::string();
}

Result<std::optional<Call>> Container::start_again(std::string& note, Deadline deadline) const {
  auto inspected = program_.ask({"container", "inspect", "--format", "{{json .}}", name_}, deadline);
  std::string why = "it was removed from outside";
  if (inspected) {
    COVE_TRY(why, differs(*inspected, deadline));
    if (why.empty()) {
      auto started = program_.ask({"restart", "--time=0", name_}, deadline);
      if (started) {
        COVE_TRY(Call call, program_.begin({"version"}));
        return std::optional<Call>(std::move(call));
      }
      if (is_passing(started.error().code)) return fail(std::move(started).error());
      why = "it could not be started again (" + started.error().message + ")";
    }
    COVE_CHECK(remove(deadline));
  } else if (inspected.error().code != Errc::not_found) {
    return fail(std::move(inspected).error());
  }
  note = "its container was made anew, because " + why + ": files in /workspace and /root are there, others are not";
  return std::optional<Call>();
}

Result<void> Container::stop(Deadline deadline) const {
  const auto stopped = program_.ask({"stop", "--time=1", name_}, deadline);
  if (stopped || stopped.error().code == Errc::not_found) return {};
  return fail(stopped.error());
}

// An engine that is removing it already, because it has ended, says so and does not wait.
Result<void> Container::remove(Deadline deadline) const {
  if (strangers_) return {};
  while (true) {
    COVE_TRY(const Said said, program_.run({"rm", "--force", "--volumes", name_}, deadline));
    const auto there = said.code == 0 ? program_.ask({"container", "inspect", "--format", "{{.Id}}", name_}, deadline)
                                      : Result<std::string>(fail(explain(program_, {"rm"}, said)));
    if (!there && there.error().code == Errc::not_found) return {};
    if (!there && said.err.find("already in progress") == std::string::npos) return fail(there.error());
    if (deadline.passed())
      return fail(Errc::timeout, "container " + name_ + " is still being removed: 'cove gc' looks after it");
    pause_for(20ms);
  }
}

Result<void> Container::commit(const std::string& layer, Deadline deadline) const {
  const std::string label = std::string("--change=LABEL ") + kLayerLabel + "=" + hash_text(home_);
  if (!spec_.persistent) {
    COVE_CHECK(program_.ask({"commit", "--pause=true", label, name_, layer_image(layer)}, deadline));
    return {};
  }
  COVE_CHECK(program_.ask({"pause", name_}, deadline));
  auto sealed = program_.ask({"commit", "--pause=false", label, name_, layer_image(layer)}, deadline);
  auto filled = sealed ? fill(layer, deadline) : Result<void>(fail(sealed.error()));
  COVE_CHECK(program_.ask({"unpause", name_}, deadline));
  if (!filled && sealed) [[maybe_unused]]
    const auto removed = remove_layer(program_, layer, deadline);
  return filled;
}

// What is mounted there is in no commit, so it is copied into a container that never runs, and that becomes the image.
Result<void> Container::fill(const std::string& layer, Deadline deadline) const {
  return with_copy(layer_image(layer), deadline, [&](const std::string& copy) -> Result<void> {
    for (const auto& [from, to] : kept_directories(spec_))
      COVE_CHECK(program_.ask({"cp", "--archive", from + "/.", copy + ":" + to}, deadline));
    COVE_CHECK(program_.ask({"commit", copy, layer_image(layer)}, deadline));
    return {};
  });
}

Result<void> Container::seed(Deadline deadline) const {
  return with_copy(image(), deadline, [&](const std::string& copy) -> Result<void> {
    for (const auto& [to, from] : kept_directories(spec_))
      COVE_CHECK(program_.ask({"cp", "--archive", copy + ":" + from + "/.", to}, deadline));
    return {};
  });
}

Result<void> Container::with_copy(const std::string& image, Deadline deadline,
                                  const std::function<Result<void>(const std::string& copy)>& work) const {
  const std::string copy = name_ + kCopySuffix;
  const std::vector<std::string> words{"create",
                                       "--pull=never",
                                       "--network=none",
                                       "--name=" + copy,
                                       std::string("--label=") + kHomeLabel + "=" + hash_text(home_),
                                       image};
  auto made = program_.ask(words, deadline);
  if (!made && made.error().code == Errc::conflict) {  // a crashed keeper left one
    COVE_CHECK(program_.ask({"rm", "--force", copy}, deadline));
    made = program_.ask(words, deadline);
  }
  if (!made) return fail(std::move(made).error());
  auto worked = work(copy);
  COVE_CHECK(program_.ask({"rm", "--force", copy}, call_deadline()));
  return worked;
}

Result<void> Container::has_image(Deadline deadline) const {
  COVE_CHECK(program_.ask({"image", "inspect", "--format", "{{.Id}}", image()}, deadline));
  return {};
}

Result<std::vector<std::string>> find_old_layers(const Program& program, const std::string& home, Deadline deadline) {
  COVE_TRY(const std::string listed,
           program.ask({"images", "--filter", std::string("label=") + kLayerLabel + "=" + hash_text(home), "--format",
                        "{{.Repository}}:{{.Tag}}"},
                       deadline));
  std::vector<std::string> old;
  for (const std::string& image : lines_of(listed)) {
    const std::string id = image.substr(image.rfind(':') + 1);
    if (image == layer_image(id) && !std::filesystem::exists(home + "/layers/" + id)) old.push_back(id);
  }
  return old;
}

Result<void> remove_layer(const Program& program, const std::string& id, Deadline deadline) {
  const auto removed = program.ask({"rmi", "--force", layer_image(id)}, deadline);
  if (removed || removed.error().code == Errc::not_found) return {};
  return fail(removed.error());
}

Result<pid_t> Container::first_process(Deadline deadline) const {
  COVE_TRY(const std::string text,
           program_.ask({"container", "inspect", "--format", "{{.State.Pid}}", name_}, deadline));
  return static_cast<pid_t>(std::strtol(text.c_str(), nullptr, 10));
}

}  // namespace cove::engine
