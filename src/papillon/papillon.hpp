// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "papillon/bilinear.hpp"
#include "papillon/butterfly.hpp"
#include "papillon/butterfly_factors.hpp"
#include "papillon/gemm.hpp"
#include "papillon/hadamard.hpp"
#include "papillon/kronecker.hpp"
#include "papillon/kronecker_gradient.hpp"
#include "papillon/orders.hpp"
#include "papillon/quantization_error.hpp"
#include "papillon/quantize.hpp"
#include "papillon/version.hpp"
