"""Assertions about tensors, and where NaNs come from: ``tracejit.debugging``. Names only.

Written by ``python -m stubs`` in `tests`: do not edit.
"""
from tracejit.debugging.assertions import Assert as Assert
from tracejit.debugging.assertions import assert_all_finite as assert_all_finite
from tracejit.debugging.assertions import assert_equal as assert_equal
from tracejit.debugging.assertions import assert_greater as assert_greater
from tracejit.debugging.assertions import assert_greater_equal as assert_greater_equal
from tracejit.debugging.assertions import assert_integer as assert_integer
from tracejit.debugging.assertions import assert_less as assert_less
from tracejit.debugging.assertions import assert_less_equal as assert_less_equal
from tracejit.debugging.assertions import assert_near as assert_near
from tracejit.debugging.assertions import assert_negative as assert_negative
from tracejit.debugging.assertions import assert_non_negative as assert_non_negative
from tracejit.debugging.assertions import assert_non_positive as assert_non_positive
from tracejit.debugging.assertions import assert_none_equal as assert_none_equal
from tracejit.debugging.assertions import assert_positive as assert_positive
from tracejit.debugging.assertions import assert_rank as assert_rank
from tracejit.debugging.assertions import assert_rank_at_least as assert_rank_at_least
from tracejit.debugging.assertions import assert_rank_in as assert_rank_in
from tracejit.debugging.assertions import assert_scalar as assert_scalar
from tracejit.debugging.assertions import assert_shapes as assert_shapes
from tracejit.debugging.assertions import assert_type as assert_type
from tracejit.debugging.assertions import check_numerics as check_numerics
from tracejit.debugging.assertions import is_numeric_tensor as is_numeric_tensor
from tracejit.debugging.numerics import check_numerics_everywhere as check_numerics_everywhere
from tracejit.debugging.numerics import disable_check_numerics as disable_check_numerics
from tracejit.debugging.numerics import enable_check_numerics as enable_check_numerics
