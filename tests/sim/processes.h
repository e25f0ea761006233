#pragma once

#include "sim/process.h"
#include "table/commit.h"

namespace timelake::sim {

// One turn of a process of each kind.

// Appends one or two rows, with or without a batch id; an append whose outcome its caller was not
// told, or that failed, is mostly repeated under its id.
void WriterTurn(Process& process);

// Merges files of a partition, as compaction does, or deletes rows: planned and committed by the
// code under test, only the files are made by hand.
void RewriterTurn(Process& process);

// Drops what is past retention.
void RetainerTurn(Process& process);

// Renames, drops and adds columns, or sets and removes the retention.
void ChangerTurn(Process& process);

// Expires snapshots and frees versions.
void MaintainerTurn(Process& process);

// Loads and reads all files that the version names, slowly. May only fail once the version has
// been replaced for the age.
void ReaderTurn(Process& process);

// Tags the head, sets a property, or makes an ancestor or tag current again.
void RollerTurn(Process& process);

// Drops the table and creates it again.
void DropperTurn(Process& process);

// Creates the table if nobody has.
void CreatorTurn(Process& process);

// Says what is wrong with an error that may not be at the end of a call.
void Judge(Process& process, const char* what, const Status& status);
table::CommitOptions CommitOptionsOf(Process& process);
// Judges the outcome of a commit that adds no snapshot, and whether it is real.
void CheckCommit(Process& process, const char* what, const Result<table::CommitResult>& result);

// Steps of the above that the end of a run uses, too.
Outcome Append(Process& process, const std::vector<Row>& rows, const std::string& batch_id);
Status Create(Process& process);
// LoadNewest, with the promise that it is not older than what was newest when it began.
Result<table::Version> Load(Process& process);
Result<table::Version> Load(Process& process, table::Handle& handle);
void Expire(Process& process);
void Free(Process& process);

}  // namespace timelake::sim
