#include "home.h"
#include "backend/traits.h"

#include <grp.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "client/nursery.h"
#include "process.h"

namespace cove::testing_helpers {
namespace fs = std::filesystem;
namespace {

std::string env_or(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

// Ways to run one backend that are told apart in reports.
constexpr std::array<std::string_view, 2> kManners{"-user", "-old"};

std::string make_root() {
  std::string pattern = fs::temp_directory_path() / "cove-test-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  return fs::canonical(pattern);
}

}  // namespace

Home::Home() : root_(make_root()), path_(root_ + "/state"), mark_("COVETEST_MARK=" + std::to_string(getpid()) + root_) {
  setenv("COVE_HOME", path_.c_str(), 1);
  // The start-up files of whoever runs the tests must not decide how they go.
  setenv("HOME", make_directory("home").c_str(), 1);
  setenv("COVE_PROGRAM", cove_program().c_str(), 1);
  setenv("COVE_GUEST", COVE_TEST_GUEST, 0);
}

Home::~Home() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

std::string Home::make_directory(const std::string& name) const {
  const std::string path = root_ + "/" + name;
  fs::create_directories(path);
  return path;
}

std::string Home::leftovers() const {
  Nursery::of_this_process().close();
  auto pids = processes_with_env("COVE_HOME=" + path_);
  std::erase(pids, getpid());
  const auto inside = processes_with_env(mark_);
  pids.insert(pids.end(), inside.begin(), inside.end());
  std::string text = describe(pids);
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(path_ + "/sandboxes", none)) text += entry.path().string() + "\n";
  return text;
}

Home& home() {
  static Home one;
  return one;
}

std::string cove_program() { return env_or("COVE_PROGRAM", COVE_TEST_PROGRAM); }
std::string subject_name() { return env_or("COVE_TEST_BACKEND", "local"); }

std::string backend_name() {
  std::string name = subject_name();
  for (const std::string_view manner : kManners) {
    if (name.ends_with(manner)) name.resize(name.size() - manner.size());
  }
  return name;
}

void become_test_user() {
  // Apptainer wants its users to have a name and a home.
  const bool named = backend_name() == "apptainer";
  const uid_t user = named ? 65534 : 12345;
  if (!subject_name().ends_with("-user") || geteuid() != 0) return;
  std::string programs = fs::temp_directory_path() / "cove-programs-XXXXXX";
  if (mkdtemp(programs.data()) == nullptr) std::abort();
  const fs::path image = fs::path(cove_program()).parent_path() / "cove-image";
  if (fs::exists(image)) fs::copy_file(image, programs + "/cove-image");
  for (const auto& [variable, path] : {std::pair<const char*, std::string>{"COVE_PROGRAM", cove_program()},
                                       {"COVE_GUEST", env_or("COVE_GUEST", COVE_TEST_GUEST)}}) {
    const std::string copy = programs + "/" + fs::path(path).filename().string();
    fs::copy_file(path, copy);
    setenv(variable, copy.c_str(), 1);
  }
  // The tree that machines are made of lies in the build's directory, which may be another one's.
  if (const std::string root = env_or("COVE_TEST_ROOT", ""); backend_name() == "microvm" && !root.empty()) {
    const std::string copy = programs + "/root";
    fs::copy(root, copy, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    for (const char* variable : {"COVE_TEST_ROOT", "COVE_IMAGE"}) setenv(variable, copy.c_str(), 1);
    if (lchown(copy.c_str(), user, user) < 0) std::abort();
    for (const auto& each : fs::recursive_directory_iterator(copy)) {
      if (lchown(each.path().c_str(), user, user) < 0) std::abort();
    }
  }
  if (chown(programs.c_str(), user, user) < 0 || setgroups(0, nullptr) < 0 || setgid(user) < 0 || setuid(user) < 0) {
    std::abort();
  }
  if (named) setenv("HOME", programs.c_str(), 1);
  setenv("XDG_RUNTIME_DIR", programs.c_str(), 1);  // without one, podman leaves a directory in /tmp when it is asked
  static const struct Programs {
    std::string path;
    ~Programs() {
      std::error_code ignored;
      fs::remove_all(path, ignored);
    }
  } removed_at_the_end{programs};
}

SandboxSpec make_spec() {
  static std::atomic<int> number{0};
  SandboxSpec spec;
  spec.name = "t" + std::to_string(getpid()) + "-" + std::to_string(++number);
  spec.backend = backend_name();
  spec.owned = true;
  const std::string mark = home().mark();
  spec.env = {{"PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}, {"LC_CTYPE", "C.UTF-8"}, {"TERM", "dumb"}};
  set_env(spec, mark.substr(0, mark.find('=')), mark.substr(mark.find('=') + 1));
  // The whole of this machine would take longer to copy than all tests.
  if (spec.backend == "microvm") spec.image = env_or("COVE_TEST_ROOT", "");
  if (traits_of(spec.backend).images == Images::engine || traits_of(spec.backend).images == Images::program)
    spec.image = env_or("COVE_IMAGE", "");
  if (spec.backend == "apptainer") spec.set_option("engine", env_or("COVE_ENGINE", ""));
  if (spec.backend != "local") {
    set_env(spec, "HOME", "/root");
    spec.cwd = "/workspace";
    return spec;
  }
  set_env(spec, "HOME", home().make_directory("home"));
  set_env(spec, "TMPDIR", home().make_directory("tmp"));
  spec.cwd = home().make_directory("work");
  return spec;
}

std::string engine_why_not() {
  const std::string directory = env_or("COVE_TEST_ENGINE", "");
  return directory.empty() ? "" : slurp(directory + "/why-not");
}

std::string shown_inside(SandboxSpec& spec, const std::string& directory) {
  if (spec.backend == "local") return directory;
  const std::string inside = "/shown/" + fs::path(directory).filename().string();
  spec.volumes.push_back(directory + ":" + inside);
  return inside;
}

void set_env(SandboxSpec& spec, const std::string& name, const std::string& value) {
  std::erase_if(spec.env, [&](const auto& entry) { return entry.first == name; });
  spec.env.emplace_back(name, value);
}

double slack() { return std::stod(env_or("COVE_TEST_SLACK", COVE_TEST_DEFAULT_SLACK)); }

}  // namespace cove::testing_helpers
