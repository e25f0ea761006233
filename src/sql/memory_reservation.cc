#include "sql/memory_reservation.h"

#include <duckdb/main/client_context.hpp>
#include <duckdb/storage/buffer_manager.hpp>

namespace timelake::sql {

MemoryReservation::MemoryReservation(duckdb::ClientContext& context)
    : manager_(duckdb::BufferManager::GetBufferManager(context)) {}

MemoryReservation::~MemoryReservation() {
  if (held_ > 0) manager_.FreeReservedMemory(static_cast<duckdb::idx_t>(held_));
}

void MemoryReservation::Hold(int64_t bytes) {
  if (bytes > held_) manager_.ReserveMemory(static_cast<duckdb::idx_t>(bytes - held_));
  if (bytes < held_) manager_.FreeReservedMemory(static_cast<duckdb::idx_t>(held_ - bytes));
  held_ = bytes;
}

}  // namespace timelake::sql
