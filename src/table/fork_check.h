#pragma once

#include <optional>
#include <set>

#include <arrow/buffer.h>

#include "table/handle.h"

namespace timelake::table {

enum class ForkVerdict { kReal, kFork, kUnknown };

struct ForkCheck {
  const Handle& handle;
  const Version& base;               // vN that the commit was built on
  int64_t number;                    // N + 1
  const arrow::Buffer& bytes;        // what was put under that name
  const store::ObjectInfo& info;     // of that object, as its put or a read of it told
  const std::set<int64_t>& created;  // snapshots of this call's attempts
};

struct ForkAnswer {
  ForkVerdict verdict = ForkVerdict::kUnknown;
  // kReal by a listing: the newest version, which is ours or holds a snapshot of ours. What stands
  // under our name may have been freed and put there again: only this one is known to be newest.
  std::optional<Version> newest;
};

// Step 4 of docs/commit-protocol.md, asked after the put's reply: whether v(N+1) is the table's
// next version, or a name that had been freed. Never guesses: what cannot be learnt is kUnknown.
ForkAnswer CheckFork(const ForkCheck& check);

}  // namespace timelake::table
