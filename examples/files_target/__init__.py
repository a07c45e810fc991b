"""An executor of one's own, complete: steps that write text files. README walks through it."""
