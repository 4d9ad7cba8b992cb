"""Tensors of text: ``tracejit.strings``. Names only.

Written by ``python -m stubs`` in `tests`: do not edit.
"""
from tracejit.strings.operations import as_string as as_string
from tracejit.strings.operations import bytes_split as bytes_split
from tracejit.strings.operations import format as format
from tracejit.strings.operations import join as join
from tracejit.strings.operations import length as length
from tracejit.strings.operations import lower as lower
from tracejit.strings.operations import reduce_join as reduce_join
from tracejit.strings.operations import regex_full_match as regex_full_match
from tracejit.strings.operations import regex_replace as regex_replace
from tracejit.strings.operations import split as split
from tracejit.strings.operations import strip as strip
from tracejit.strings.operations import substr as substr
from tracejit.strings.operations import to_number as to_number
from tracejit.strings.operations import unicode_decode as unicode_decode
from tracejit.strings.operations import unicode_encode as unicode_encode
from tracejit.strings.operations import unicode_split as unicode_split
from tracejit.strings.operations import upper as upper
