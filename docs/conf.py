"""How the pages become a site: `sphinx-build -W --keep-going -b html docs build/docs`.

Nothing is fetched, neither by the build nor by the pages that it makes. What the pages say is in them; how docstrings
are read is in `docstrings.py` beside this file.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

project = "codemode"
author = "the authors of codemode"
html_title = "codemode"
extensions = ["myst_parser", "sphinx.ext.autodoc", "docstrings"]
exclude_patterns = ["site"]
myst_heading_anchors = 3
suppress_warnings: list[str] = []
nitpicky = False

html_theme = "furo"
html_static_path = ["site"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False
html_use_index = False  # the search finds all of it
html_domain_indices = False

default_role = "py:obj"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries_show_parents = "hide"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
highlight_language = "text"
