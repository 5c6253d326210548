"""Delivery to code hosts: comments on the lines of a pull request, a summary, a commit status, SARIF."""
