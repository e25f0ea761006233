#pragma once

#include <string>
#include <string_view>

#include <arrow/status.h>

namespace timelake {

// Why a call failed, closed list. Carried as the detail of an arrow::Status; `KindOf` reads it
// back. `kConflict` and `kCommitUnknown` differ in what is known: after a conflict the commit is
// certainly not in the table, after "commit unknown" it may be (nothing was deleted; look before
// retrying, or retry with the same batch id).
enum class ErrorKind {
  kInvalidArgument,  // the caller's input or setting is wrong
  kNotFound,         // no such table, namespace, snapshot or file
  kAlreadyExists,    // the table exists
  kConflict,         // someone else won; nothing of ours is in the table
  kCommitUnknown,    // the outcome of a commit could not be learnt
  kCorrupt,          // stored bytes contradict the format
  kUnsupported,      // valid, but not something this version does
  kIo,               // the store or the operating system failed
  kCancelled,        // the caller asked to stop
  kInternal,         // a broken promise inside the library: a bug
};

// The kind of a failed status. A status without our detail (one of Arrow's own) maps by its code.
ErrorKind KindOf(const arrow::Status& status);

// Stable lower-case name, e.g. "commit unknown"; used by the command, logs and Python.
std::string_view KindName(ErrorKind kind);

}  // namespace timelake
