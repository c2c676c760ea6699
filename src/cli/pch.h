// Precompiled for the commands: what base precompiles, and the parser of their command lines.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/pch.h"
