#pragma once

#include <cstdint>

namespace duckdb {
class BufferManager;
class ClientContext;
}  // namespace duckdb

namespace timelake::sql {

// Memory of ours that counts against DuckDB's memory_limit: it evicts or spills for it, and a limit
// that is too low is its out-of-memory error. Belongs to one thread.
class MemoryReservation {
 public:
  explicit MemoryReservation(duckdb::ClientContext& context);
  ~MemoryReservation();
  MemoryReservation(const MemoryReservation&) = delete;
  MemoryReservation& operator=(const MemoryReservation&) = delete;

  // From now on this many bytes are held. Throws if the limit does not allow it; what was held
  // before is held then.
  void Hold(int64_t bytes);

 private:
  duckdb::BufferManager& manager_;
  int64_t held_ = 0;
};

}  // namespace timelake::sql
