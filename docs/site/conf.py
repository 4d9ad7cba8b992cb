"""Settings of the documentation site; `build.py` writes the pages and runs Sphinx."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "site"))

import tracejit

project = "tracejit"
release = version = tracejit.__version__
copyright = "the authors of tracejit"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton", "parameters"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
# pages link to files of the repository, which are no pages; `shape` is an attribute of several classes
suppress_warnings = ["myst.xref_missing", "ref.python"]

napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
default_role = "code"  # docstrings name parameters as `x`
add_module_names = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
copybutton_prompt_text = ">>> |\\.\\.\\. |\\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = "tracejit"
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["site.css"]
