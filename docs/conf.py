# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sphinx configuration. docs/CMakeLists.txt passes the version and the folder of Doxygen's XML."""

project = "Papillon"
author = "the Papillon authors"
copyright = "the Papillon authors, Apache-2.0 WITH LLVM-exception"

extensions = ["myst_parser", "breathe"]
exclude_patterns = ["images"]
myst_heading_anchors = 3

breathe_projects = {"papillon": ""}
breathe_default_project = "papillon"
breathe_default_members = ("members",)
primary_domain = "cpp"
highlight_language = "cpp"

# What C++ declarations name besides Papillon: Sphinx need not find those.
nitpicky = False

html_theme = "sphinx_rtd_theme"
html_title = "Papillon"
