#pragma once

namespace timelake::cli {

// Parses the command line, runs the command and returns the exit code.
int RunCommandLine(int argc, char** argv);

}  // namespace timelake::cli
