"""Likelihood ratios: w(x) = dP'_X / dP_X as a function of x, and what it rests on.

Read in this order: `plain` (what ratios with one number for each row share), `known` (functions,
columns, densities), `groups` (rates that are known or counted), `classifier` (with `encoding`),
`gaussians` and `kernels` (fitted to two samples), `crossfit` (points that the model never saw),
`clip` and `bootstrap` (what an error costs, and bounds on it), `roles` (which rows served for
what), `diagnose` (how far a ratio can be trusted).
"""
