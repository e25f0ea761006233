#pragma once

#include <memory>
#include <optional>

#include "sim/process.h"
#include "table/versions.h"

namespace timelake::sim {

// A writer that is not ours and behaves as the peer does: it starts from the hint and probes
// upwards, commits by put-if-absent, overwrites the hint, prunes versions by count, and leaves no
// mark of ours in its snapshots. Now and then it deletes a file's rows.
class Foreign {
 public:
  void Turn(Process& process);

 private:
  struct Planned;

  Status Look(Process& process);
  Result<Planned> Plan(Process& process) const;
  Status Commit(Process& process, Planned planned);

  std::optional<table::Version> known_;
};

}  // namespace timelake::sim
