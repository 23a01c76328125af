#pragma once
#include "Instructions.h"
