#pragma once

// All of the public API.
#include "timelake/error.h"
#include "timelake/ingest.h"
#include "timelake/lake.h"
#include "timelake/maintain.h"
#include "timelake/options.h"
#include "timelake/session.h"
#include "timelake/table.h"
#include "timelake/version.h"
