#pragma once

// Of apply: a plan carried out. First everything is written aside and synced, which may fail and then leaves the host
// as it was; then it is renamed into place, which fails for single entries at most: those become conflicts.

#include <set>
#include <string>

#include "base/error.h"
#include "base/unique_fd.h"
#include "changes/apply_plan.h"

namespace cove::changes {

// What the plan would do.
void describe(const Plan& plan, Applied& applied);

class ApplyWriter {
 public:
  // The directories are lent; what is done is added to `applied`.
  ApplyWriter(int upper, int host, const ApplyOptions& options, Applied& applied)
      : upper_(upper), host_(host), options_(options), applied_(applied) {}
  ~ApplyWriter();
  ApplyWriter(const ApplyWriter&) = delete;
  ApplyWriter& operator=(const ApplyWriter&) = delete;

  Result<void> write_aside(Plan& plan);
  void put_in_place(const Plan& plan);

 private:
  Result<void> stage(Step& step);
  Result<void> stage_file(Step& step);
  Result<void> sync() const;
  bool own(int fd, const Step& step);

  void perform(const Step& step);
  bool remove(int parent, const std::string& name, const Step& step);
  bool make_directory(int parent, const std::string& name, const Step& step);
  bool put(int parent, const std::string& name, const Step& step);
  bool set_mode(int parent, const std::string& name, const Step& step);
  bool as_seen(int parent, const std::string& name, const Step& step) const;
  void clear();
  void remember();

  int upper_, host_;
  const ApplyOptions& options_;
  Applied& applied_;
  std::string aside_;
  UniqueFd stage_;
  std::set<std::string> touched_, gone_;
  unsigned long number_ = 0;
};

}  // namespace cove::changes
