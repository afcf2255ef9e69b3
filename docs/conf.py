from shiftproof import __version__

project = "shiftproof"
author = copyright = "The shiftproof authors"
version = release = __version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.mathjax", "myst_parser", "numpydoc"]
exclude_patterns = ["_build", "tables"]
html_theme = "pydata_sphinx_theme"
html_title = "shiftproof"
html_sidebars: dict[str, list[str]] = {"**": []}
html_theme_options = {"show_prev_next": False}
numpydoc_show_class_members = False
autodoc_typehints = "none"
