"""Groups of runs side by side: did a change help?"""
