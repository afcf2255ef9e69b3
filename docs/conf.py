from shiftproof import __version__

project = "shiftproof"
author = copyright = "The shiftproof authors"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "myst_parser",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery", "tables"]
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "pictures",  # made, and ignored by git
    "abort_on_example_error": True,
    "run_stale_examples": True,  # they show the library, which may have changed
    "download_all_examples": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "show_memory": False,
    "show_signature": False,
    "capture_repr": (),
}
html_theme = "pydata_sphinx_theme"
html_title = "shiftproof"
html_sidebars: dict[str, list[str]] = {"**": []}
html_theme_options = {"show_prev_next": False}
numpydoc_show_class_members = False
autodoc_typehints = "none"
