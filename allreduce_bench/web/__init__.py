"""What every page of HTML shares: colours on light and dark paper, print, and a policy that runs no code but its own.

In: nothing. Out: CSS, a policy, data that is safe inside a script. Its files are package data beside this one.
"""
